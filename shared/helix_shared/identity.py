"""Ids: every id in Helix follows from content and source, so repeating an operation changes nothing.

An id of several texts is a hash of `joined`: different sequences of texts never give the same bytes.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from typing import Final

from helix_shared.unicode_form import normalised

MEMORY_ID_PATTERN: Final = re.compile(r"^[0-9a-f]{32}\Z")
SEPARATOR: Final = "\x1f"
ESCAPE: Final = "\x1e"
ESCAPES: Final = {ESCAPE: ESCAPE + ESCAPE, SEPARATOR: ESCAPE + SEPARATOR}
"""Escapes of the two special characters in `joined`."""

MOST_STATEMENTS: Final = 32
"""Statements that a language model may draw from one memory."""

_SPACE = re.compile(r"\s+")
_ESCAPED = str.maketrans(ESCAPES)


def memory_id(tenant_id: str, event_id: str, piece: int) -> str:
    """Id of the `piece`-th memory (0 and up) made of an event: 128 bits as 32 hexadecimal digits."""
    return _digest(tenant_id, event_id, str(piece))


def statement_id(source: str, number: int) -> str:
    """Id of the `number`-th statement (0 and up) that a language model drew from the memory `source`.

    XOR of the source's id and a hash of the number, so `sources_of` finds the source without the statement.
    """
    return f"{int(source, 16) ^ _STATEMENT_MASKS[number]:032x}"


def sources_of(memory_id_: str) -> Iterator[str]:
    """The ids of which `memory_id_` is a statement, if it is one; at most one of them is of a memory."""
    if MEMORY_ID_PATTERN.match(memory_id_):
        for number in range(MOST_STATEMENTS):
            # XOR is its own inverse
            yield statement_id(memory_id_, number)


def content_hash(text: str) -> str:
    """Hash of a text that ignores white space, case and Unicode form; equal texts have equal hashes."""
    folded = _SPACE.sub(" ", normalised("NFKC", text)).strip().casefold()
    return _digest(folded)


def id_digest(memory_id_: str) -> int:
    """First 64 bits of an id; the XOR of several identifies their set in any order."""
    return int(memory_id_[:16], 16)


def joined(*parts: str) -> bytes:
    """The parts as one value; two different non-empty sequences never give the same value.

    A separator inside a part is escaped, so one name cannot be mistaken for two.
    """
    return SEPARATOR.join(part.translate(_ESCAPED) for part in parts).encode("utf-8", "surrogatepass")


def _digest(*parts: str) -> str:
    return hashlib.blake2b(joined(*parts), digest_size=16).hexdigest()


_STATEMENT_MASKS: Final = tuple(int(_digest("statement", str(n)), 16) for n in range(MOST_STATEMENTS))
