"""Document lengths: padding that makes the mean length of the index a constant.

BM25 divides a document's length by the mean length in the whole index, which would depend on the texts of
other tenants. So each document is written with companions, which hold only filler terms. In every field, a
document and its companions have the typical length on average, and they are deleted together. The mean of
the index is therefore always the typical length.

The engine stores a length rounded to one byte. When it merges segments with deleted documents it adds up the
rounded lengths, so only lengths that are stored exactly are written: fillers round a document's length up.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

FILLER: Final = "="
"""A term that no query contains, since the terms of words begin with the key of a scope."""
TYPICAL: Final[Mapping[str, int]] = MappingProxyType(
    {"text": 64, "context": 64, "section": 72, "expansions": 16, "exact": 20}
)
"""Mean number of terms of each field, near the mean of the documents that have the field.

Text lies between a turn of a conversation and an abstract, section is both neighbours of a piece of a
document, expansions are the questions of one memory. A field up to twice as long needs one companion. Twice
each length is stored exactly, so an empty field needs no filler.
"""
MAX_TERMS: Final = 1 << 20
"""Upper bound of the terms in one field of a document."""
_EXACT: Final = 40
_OF_A_STEP: Final = 8


def _exact_lengths() -> Iterator[int]:
    """Lengths that the engine stores exactly: all below 40, then eight for each step width, which doubles."""
    yield from range(_EXACT)
    length, step = _EXACT, 2
    while length <= MAX_TERMS:
        for _ in range(_OF_A_STEP):
            yield length
            length += step
        step *= 2


KEPT: Final = tuple(_exact_lengths())

Lengths = tuple[int, ...]
"""Number of terms of each field, in the order of `TYPICAL`."""


@lru_cache(4_096)
def padded(lengths: Lengths) -> tuple[Lengths, tuple[Lengths, ...]]:
    """Padded lengths of a document, and the lengths of its companions.

    A length is rounded up to one that is stored exactly, or a little more if that saves a companion.
    """
    most = (-(-_next(length) // typical) for length, typical in zip(lengths, TYPICAL.values(), strict=True))
    count = max(1, max(most) - 1)
    while True:
        parts = [
            _padded(length, typical, count) for length, typical in zip(lengths, TYPICAL.values(), strict=True)
        ]
        if all(part is not None for part in parts):
            found = [part for part in parts if part is not None]
            companions = tuple(zip(*(rest for _, rest in found), strict=True))
            return tuple(length for length, _ in found), companions
        count += 1


def _next(length: int) -> int:
    return KEPT[bisect_left(KEPT, length)]


def _padded(length: int, typical: int, count: int) -> tuple[int, Lengths] | None:
    """A padded length, and the lengths of `count` companions with which the mean is `typical`."""
    grown = _next(length)
    limit = grown + typical // 8
    while grown <= limit:
        if (rest := _sum_of(typical * (count + 1) - grown, count)) is not None:
            return grown, rest
        grown = _next(grown + 1)
    return None


def _sum_of(total: int, count: int) -> Lengths | None:
    """`count` exact lengths with this sum; None if there are none."""
    if total < 0:
        return None
    parts = []
    for _ in range(count):
        parts.append(KEPT[bisect_right(KEPT, total) - 1])
        total -= parts[-1]
    return None if total else tuple(parts)
