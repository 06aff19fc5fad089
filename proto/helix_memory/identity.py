"""Ids that a publisher can work out: they follow from tenant and event, so a repeated event changes nothing.

An id of several texts is a hash of `joined`: different sequences of texts never give the same bytes.
"""

from __future__ import annotations

import hashlib
from typing import Final

SEPARATOR: Final = "\x1f"
ESCAPE: Final = "\x1e"
ESCAPES: Final = {ESCAPE: ESCAPE + ESCAPE, SEPARATOR: ESCAPE + SEPARATOR}
"""Escapes of the two special characters in `joined`."""

_ESCAPED: Final = str.maketrans(ESCAPES)


def memory_id(tenant_id: str, event_id: str, piece: int) -> str:
    """Id of the `piece`-th memory (0 and up) made of an event: 128 bits as 32 hexadecimal digits."""
    return digest(tenant_id, event_id, str(piece))


def joined(*parts: str) -> bytes:
    """The parts as one value; two different non-empty sequences never give the same value.

    A separator inside a part is escaped, so one name cannot be mistaken for two.
    """
    return SEPARATOR.join(part.translate(_ESCAPED) for part in parts).encode("utf-8", "surrogatepass")


def digest(*parts: str) -> str:
    """Hash of the parts, 128 bits as 32 hexadecimal digits."""
    return hashlib.blake2b(joined(*parts), digest_size=16).hexdigest()
