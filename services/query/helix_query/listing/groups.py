"""Groups of memories (sessions, entities), the one with the newest memory first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np

from helix_memory import limits
from helix_query.listing.cursor import Cursor
from helix_query.listing.pages import chunks_of
from helix_query.scheduling.deadline import raise_if_overdue
from helix_shared.artifacts.distinct import distinct
from helix_shared.artifacts.graph.base import flat

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from helix_query.listing.pages import Chunk
    from helix_query.listing.visible import VisibleMemories

MOST_COUNTED: Final = limits.GROUP_MEMORIES
"""Memories of one group that count: the latest of the log that the caller sees."""
BATCH_GROUPS: Final = 32
"""Groups whose memories are read together, between two looks at the deadline."""
_ORDINAL_BITS: Final = 40
"""Room of an ordinal in a key that has the place of a group before it."""
_ORDINAL: Final = (1 << _ORDINAL_BITS) - 1

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
    visible: VisibleMemories, grouping: Grouping, *, after: Cursor | None, size: int, until: float
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
        for start in range(0, len(new), BATCH_GROUPS):
            raise_if_overdue(until)
            some = new[start : start + BATCH_GROUPS]
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


def _chunks(visible: VisibleMemories, after: Cursor | None, *, first: int, until: float) -> Iterator[Chunk]:
    runs, signals = visible.runs(), visible.signals
    return chunks_of(
        runs, signals, visible.is_visible, after=after, newest_first=True, first=first, until=until
    )


def _counted(
    grouping: Grouping,
    groups: NDArray[np.int64],
    newest: NDArray[np.int64],
    visible: VisibleMemories,
    after: Cursor | None,
) -> list[Group | None]:
    """Groups [n] with their visible memories; `newest` [n] are visible memories of them.

    None: a memory of the group is listed at or before the cursor, newest first, so an earlier page has it.
    """
    count = len(groups)
    seen, rest = _latest_visible(_distinct(*grouping.members(groups)), count, visible)
    places, ordinals = _pairs(_with(seen, _keys(np.arange(count), newest)))
    times = visible.signals.occurred_at[ordinals]
    starts = np.searchsorted(places, np.arange(count))
    columns = (
        groups,
        newest,
        np.bincount(places, minlength=count),
        np.minimum.reduceat(times, starts),
        np.maximum.reduceat(times, starts),
    )
    counted = [Group(*values) for values in zip(*(column.tolist() for column in columns), strict=True)]
    if after is None:
        return [*counted]
    is_earlier = np.zeros(count, np.bool_)
    is_earlier[places[_are_listed(ordinals, visible, after)]] = True
    # where old events came late, the newest memories of a large group are not the latest of the log
    places, ordinals = _pairs(rest)
    unsure = ~is_earlier[places] & _are_listed(ordinals, visible, after)
    places, ordinals = places[unsure], ordinals[unsure]
    is_earlier[places[visible.is_visible(ordinals)]] = True
    return [None if earlier else group for group, earlier in zip(counted, is_earlier.tolist(), strict=True)]


def _are_listed(ordinals: NDArray[np.int64], visible: VisibleMemories, after: Cursor) -> NDArray[np.bool_]:
    """Which of `ordinals` [n] are at or before the cursor, newest first."""
    times = visible.signals.occurred_at[ordinals]
    listed: NDArray[np.bool_] = (times > after.key) | ((times == after.key) & (ordinals >= after.ordinal))
    return listed


def _keys(places: NDArray[np.int64], ordinals: NDArray[np.int64]) -> NDArray[np.int64]:
    return (places << _ORDINAL_BITS) | ordinals


def _pairs(keys: NDArray[np.int64]) -> Pairs:
    return keys >> _ORDINAL_BITS, keys & _ORDINAL


def _distinct(places: NDArray[np.int64], ordinals: NDArray[np.int64]) -> NDArray[np.int64]:
    """Keys of the pairs, ascending, each once."""
    keys = _keys(places, ordinals)
    if (keys[1:] > keys[:-1]).all():  # the graph's edges and most sessions are in order already
        return keys
    return distinct(keys)


def _with(keys: NDArray[np.int64], more: NDArray[np.int64]) -> NDArray[np.int64]:
    """Ascending keys with those of `more`, ascending too, that are not among them."""
    places = keys.searchsorted(more)
    missing = places == keys.searchsorted(more, side="right")
    return np.insert(keys, places[missing], more[missing])


def _latest_visible(
    keys: NDArray[np.int64], count: int, visible: VisibleMemories
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The latest `MOST_COUNTED` visible `keys` of each of `count` places; and the earlier, visible or not.

    Visibility is checked from the end of each place until so many are visible. The second round takes as many
    keys as the visible share of the first one calls for.
    """
    firsts, ends = _bounds(keys, count)
    seen, counts = [keys[:0]], np.zeros(count, np.int64)
    starts = ends.copy()
    wanted = np.full(count, MOST_COUNTED)
    while len(left := np.flatnonzero((starts > firsts) & (wanted > 0))):
        stops, starts[left] = starts[left], np.maximum(firsts[left], starts[left] - wanted[left])
        checked = keys[flat(starts[left], stops - starts[left])]
        checked = checked[visible.is_visible(checked & _ORDINAL)]
        seen.append(checked)
        counts += np.bincount(checked >> _ORDINAL_BITS, minlength=count)
        missing = np.maximum(MOST_COUNTED - counts, 0)
        wanted = -(-missing * (ends - starts + 1) // (counts + 1))
    found = np.sort(np.concatenate(seen), kind="stable")  # merges the rounds, each of which ascends
    begins, stops = _bounds(found, count)
    over = np.maximum(stops - begins - MOST_COUNTED, 0)
    rest = np.concatenate([keys[flat(firsts, starts - firsts)], found[flat(begins, over)]])
    return found[flat(begins + over, stops - begins - over)], rest


def _bounds(keys: NDArray[np.int64], count: int) -> Pairs:
    """Start and end of each of `count` places in ascending keys."""
    bounds = keys.searchsorted(_keys(np.arange(count + 1), np.zeros(count + 1, np.int64)))
    return bounds[:-1], bounds[1:]
