"""Ids: every id in Helix follows from content and source, so doing a thing twice changes nothing."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from typing import Final

MEMORY_ID_PATTERN: Final = re.compile(r"^[0-9a-f]{32}$")

_SPACE = re.compile(r"\s+")
_SEPARATOR = "\x1f"


def memory_id(tenant_id: str, event_id: str, piece: int) -> str:
    """Id of the `piece`-th memory (0 and up) made of an event: 128 bits as 32 hexadecimal digits."""
    return _digest(tenant_id, event_id, str(piece))


def content_hash(text: str) -> str:
    """Hash of a text up to white space, case and Unicode form; equal hash means the same statement."""
    folded = _SPACE.sub(" ", unicodedata.normalize("NFKC", text)).strip().casefold()
    return _digest(folded)


def id_digest(memory_id_: str) -> int:
    """64 bits of an id, for the order-free XOR digest of a set of ids."""
    return int(memory_id_[:16], 16)


def _digest(*parts: str) -> str:
    joined = _SEPARATOR.join(parts).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(joined, digest_size=16).hexdigest()
