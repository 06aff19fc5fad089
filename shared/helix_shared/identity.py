"""Ids: every id in Helix follows from content and source, so repeating an operation changes nothing.

`helix_memory.identity` has those that a publisher can work out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from helix_memory.identity import ESCAPE, ESCAPES, SEPARATOR, digest, joined, memory_id
from helix_shared.text.unicode_form import one_form

__all__ = [
    "ESCAPE",
    "ESCAPES",
    "MEMORY_ID_PATTERN",
    "MOST_STATEMENTS",
    "SEPARATOR",
    "content_hash",
    "id_digest",
    "joined",
    "memory_id",
    "sources_of",
    "statement_id",
]

MEMORY_ID_PATTERN: Final = re.compile(r"^[0-9a-f]{32}\Z")
MOST_STATEMENTS: Final = 32
"""Statements that a language model may extract from one memory."""

_SPACE = re.compile(r"\s+")


def statement_id(source: str, number: int) -> str:
    """Id of the `number`-th statement (0 and up) extracted from the memory `source` by a language model.

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
    folded = _SPACE.sub(" ", one_form(text)).strip().casefold()
    return digest(folded)


def id_digest(memory_id_: str) -> int:
    """First 64 bits of an id; the XOR of several identifies their set in any order."""
    return int(memory_id_[:16], 16)


_STATEMENT_MASKS: Final = tuple(int(digest("statement", str(n)), 16) for n in range(MOST_STATEMENTS))
