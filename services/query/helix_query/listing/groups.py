"""Groups of memories (sessions, entities), the one with the newest memory first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np

from helix_query.listing.cursor import Cursor
from helix_query.listing.pages import chunks_of
from helix_query.scheduling.deadline import check

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from helix_query.listing.pages import Chunk
    from helix_query.listing.visible import Visible

MOST_COUNTED: Final = 16_384
"""Memories of one group that are looked at, the latest of the log; a larger group counts as so many."""
AT_ONCE: Final = 32
"""Groups whose memories are read together, between two looks at the deadline."""
_ORDINAL_BITS: Final = 40
"""Room of an ordinal in a key that has the place of a group before it."""

Pairs = tuple["NDArray[np.int64]", "NDArray[np.int64]"]


class Grouping(Protocol):
    """Which groups memories belong to."""

    def groups_of(self, ordinals: NDArray[np.int64]) -> Pairs:
        """Pairs [m]: the place of a memory in `ordinals`, ascending, and a group that it belongs to."""

    def members(self, groups: NDArray[np.int64]) -> Pairs:
        """Pairs [m]: the place of a group in `groups`, and a memory of it, visible or not; in any order."""


@dataclass(frozen=True, slots=True)
class Group:
    """A group as the caller could recall it; times are microseconds since 1970."""

    group: int
    newest: int
    """Ordinal of its newest memory."""
    memories: int
    first_at: int
    last_at: int


def groups_page(
    visible: Visible, grouping: Grouping, *, after: Cursor | None, size: int, until: float
) -> tuple[list[Group], Cursor | None]:
    """The next `size` groups behind `after`, and where they end; None: these are the last.

    Raises:
        OverdueError: `until`, a moment of the monotonic clock, has passed.
    """
    found: dict[int, Group] = {}
    earlier: set[int] = set()
    """Groups that an earlier page has."""
    end, last = after, after
    for chunk in _chunks(visible, after, first=size, until=until):
        known = found.keys() | earlier
        places, groups = grouping.groups_of(chunk.ordinals)
        _, firsts = np.unique(groups, return_index=True)
        new = [first for first in np.sort(firsts).tolist() if int(groups[first]) not in known]
        for start in range(0, len(new), AT_ONCE):
            check(until)
            some = new[start : start + AT_ONCE]
            newest = places[some]
            counted = _counted(grouping, groups[some], chunk.ordinals[newest], visible, after)
            for first, group, place in zip(some, counted, newest.tolist(), strict=True):
                if group is None:
                    earlier.add(int(groups[first]))
                    continue
                here = Cursor(int(chunk.keys[place]), int(chunk.ordinals[place]))
                if len(found) >= size and here != end:
                    return list(found.values()), end
                found[group.group], end = group, here
        last = chunk.end
    if last == after:
        return list(found.values()), None
    rest = _chunks(visible, last, first=1, until=until)
    return list(found.values()), None if next(rest, None) is None else last


def _chunks(visible: Visible, after: Cursor | None, *, first: int, until: float) -> Iterator[Chunk]:
    runs, signals = visible.runs(), visible.signals
    return chunks_of(runs, signals, visible.among, after=after, newest_first=True, first=first, until=until)


def _counted(
    grouping: Grouping,
    groups: NDArray[np.int64],
    newest: NDArray[np.int64],
    visible: Visible,
    after: Cursor | None,
) -> list[Group | None]:
    """Groups [n] with their visible memories; `newest` [n] are visible memories of them.

    None: a memory of the group is listed at or before the cursor, newest first, so an earlier page has it.
    """
    count = len(groups)
    places, ordinals = _latest(*grouping.members(groups), count)
    seen = visible.among(ordinals)
    places = np.concatenate([places[seen], np.arange(count)])
    ordinals = np.concatenate([ordinals[seen], newest])
    places, ordinals = _distinct(places, ordinals)
    times = visible.signals.occurred_at[ordinals]
    starts = np.searchsorted(places, np.arange(count))
    before = np.zeros(len(times), np.bool_)
    if after is not None:
        before = (times > after.key) | ((times == after.key) & (ordinals >= after.ordinal))
    columns = (
        groups,
        newest,
        np.bincount(places, minlength=count),
        np.minimum.reduceat(times, starts),
        np.maximum.reduceat(times, starts),
    )
    counted = [Group(*values) for values in zip(*(column.tolist() for column in columns), strict=True)]
    is_earlier = np.logical_or.reduceat(before, starts).tolist()
    return [None if earlier else group for group, earlier in zip(counted, is_earlier, strict=True)]


def _distinct(places: NDArray[np.int64], ordinals: NDArray[np.int64]) -> Pairs:
    """Pairs without repetition, by place and ordinal."""
    keys = (places << _ORDINAL_BITS) | ordinals
    if (keys[1:] <= keys[:-1]).any():  # the graph's edges and most sessions are in order already
        keys = np.unique(keys)
    return keys >> _ORDINAL_BITS, keys & ((1 << _ORDINAL_BITS) - 1)


def _latest(places: NDArray[np.int64], ordinals: NDArray[np.int64], count: int) -> Pairs:
    """Pairs without repetition, of each of `count` places the `MOST_COUNTED` with the highest ordinals."""
    places, ordinals = _distinct(places, ordinals)
    ends = np.searchsorted(places, np.arange(count), side="right")
    kept = ends[places] - np.arange(len(places)) <= MOST_COUNTED
    return places[kept], ordinals[kept]
