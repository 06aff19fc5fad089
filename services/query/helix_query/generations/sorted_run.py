"""Sorted rows of one segment of the signals: what the orders of a generation are made of."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helix_shared.artifacts.signals.reader import Signals
    from helix_shared.artifacts.signals.segments import Segment

_MIX: Final = np.uint64(0x9E3779B97F4A7C15)
"""2^64 divided by the golden ratio: an odd factor that spreads neighbouring codes (Knuth, TAOCP 6.4)."""


@dataclass(frozen=True, slots=True, eq=False)
class SortedRun:
    """Some rows of one segment by ascending key; equal keys by ordinal.

    Rows that a later segment replaced are among them; `live` tells which are not.
    """

    keys: NDArray[np.int64]
    rows: NDArray[np.int32]
    """Rows of the segment, beside the keys."""
    segment: Segment
    start: int
    """Row of the segment's first row in the concatenation of all."""

    def ordinals(self, first: int, last: int) -> NDArray[np.int64]:
        """Ordinals of `first:last`."""
        return self.segment.ordinals[self.rows[first:last]]

    def live(self, first: int, last: int, signals: Signals) -> NDArray[np.bool_]:
        """Which of `first:last` no later segment replaced."""
        found: NDArray[np.bool_] = (
            signals.rows[self.ordinals(first, last)] == self.start + self.rows[first:last]
        )
        return found

    def only(self, ordinals: NDArray[np.int64]) -> Self:
        """The rows of these ordinals."""
        is_among = np.isin(self.ordinals(0, len(self.rows)), ordinals)
        return replace(self, keys=self.keys[is_among], rows=self.rows[is_among])

    def place(self, key: int, ordinal: int, *, after: bool) -> int:
        """Where a memory is or would be; with `after`, the place behind it."""
        low, high = np.searchsorted(self.keys, [key, key + 1])
        side: Any = "right" if after else "left"
        return int(low + np.searchsorted(self.ordinals(int(low), int(high)), ordinal, side=side))


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Where the rows of each group are, of rows that are ordered by group (`group_of`)."""

    keys: NDArray[np.uint64]
    """The groups, ascending."""
    starts: NDArray[np.int64]
    """First row of each group, and the end of the last one."""

    @classmethod
    def of(cls, ordered: NDArray[np.uint64]) -> Self:
        """Those of the group of each row, ascending."""
        is_first = np.ones(len(ordered), bool)
        np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
        firsts = np.flatnonzero(is_first)
        return cls(ordered[firsts], np.append(firsts, len(ordered)))

    def span(self, group: np.uint64) -> tuple[int, int]:
        """Start and end of a group; equal if it has no rows."""
        found = int(np.searchsorted(self.keys, group))
        if found == len(self.keys) or self.keys[found] != group:
            return 0, 0
        return int(self.starts[found]), int(self.starts[found + 1])


def group_of(tenants: NDArray[np.int64], codes: NDArray[np.int64]) -> NDArray[np.uint64]:
    """A hash of tenants [n] and codes [n] of something inside them."""
    mixed: NDArray[np.uint64] = codes.astype(np.uint64) ^ (tenants.astype(np.uint64) * _MIX)
    return mixed
