"""Lengths of documents as the lexicon writes them, so that the mean length is a constant of Helix.

The engine divides a document's length by the mean of the whole index, in which other tenants' texts would
show. So each document is written with companions, documents that hold nothing but fillers: in every field
they and it have the typical length on average, and all are deleted together. Whatever is in the index, its
mean is the typical length.

The engine keeps a length in one byte. When it merges segments with deleted documents it adds up these
rounded lengths, so only lengths that it keeps exactly are written: fillers round a document's length up.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

FILLER: Final = "="
"""A term that no query has: terms of words begin with the key of a scope."""
TYPICAL: Final[Mapping[str, int]] = MappingProxyType(
    {"text": 64, "context": 64, "section": 72, "expansions": 16, "exact": 20}
)
"""Terms of a field that BM25 takes for its mean length, near the length of those documents that have it.

Text is between a turn of a conversation and an abstract; a section is both neighbours of a piece of a
document; expansions are the questions of one memory. A field up to twice as long needs no second companion;
twice each of these lengths is one that the engine keeps, so that an empty field needs no filler.
"""
MOST_TERMS: Final = 1 << 20
"""Of one field of a document: more than its characters give."""
_EXACT: Final = 40
_OF_A_STEP: Final = 8


def _kept_lengths() -> Iterator[int]:
    """Lengths that the engine keeps exactly: all below 40, then eight of each step, which doubles."""
    yield from range(_EXACT)
    length, step = _EXACT, 2
    while length <= MOST_TERMS:
        for _ in range(_OF_A_STEP):
            yield length
            length += step
        step *= 2


KEPT: Final = tuple(_kept_lengths())
_KEPT: Final = frozenset(KEPT)

Lengths = tuple[int, ...]
"""Terms of each field, in the order of `TYPICAL`."""


@lru_cache(4_096)
def balanced(lengths: Lengths) -> tuple[Lengths, tuple[Lengths, ...]]:
    """Lengths to write for a document of these lengths, and those of its companions.

    A length grows to the next that the engine keeps, or a little further where that saves a companion.
    """
    most = (-(-_next(length) // typical) for length, typical in zip(lengths, TYPICAL.values(), strict=True))
    count = max(1, max(most) - 1)
    while True:
        parts = [
            _parted(length, typical, count) for length, typical in zip(lengths, TYPICAL.values(), strict=True)
        ]
        if all(part is not None for part in parts):
            known = [part for part in parts if part is not None]
            companions = tuple(zip(*(rest for _, rest in known), strict=True))
            return tuple(length for length, _ in known), companions
        count += 1


def _next(length: int) -> int:
    return KEPT[bisect_left(KEPT, length)]


def _parted(length: int, typical: int, count: int) -> tuple[int, Lengths] | None:
    """A length to write, and `count` others with which its mean is the typical one."""
    grown = _next(length)
    most = grown + typical // 8
    while grown <= most:
        if (rest := _sum_of(typical * (count + 1) - grown, count)) is not None:
            return grown, rest
        grown = _next(grown + 1)
    return None


def _sum_of(total: int, count: int) -> Lengths | None:
    """So many kept lengths that add up to a total."""
    if total < 0:
        return None
    parts = []
    for _ in range(count):
        parts.append(KEPT[bisect_right(KEPT, total) - 1])
        total -= parts[-1]
    return None if total else tuple(parts)
