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


class Grouping(Protocol):
    """Which groups memories belong to."""

    def groups_of(self, ordinals: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Pairs [m]: the place of a memory in `ordinals`, ascending, and a group that it belongs to."""

    def members(self, group: int, ordinal: int) -> NDArray[np.int64]:
        """Ordinals of the memories of a group, visible or not; `ordinal` is one of them."""


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
    for chunk in chunks_of(
        visible.runs(),
        visible.signals,
        visible.among,
        after=after,
        newest_first=True,
        first=size,
        until=until,
    ):
        places, groups = grouping.groups_of(chunk.ordinals)
        _, firsts = np.unique(groups, return_index=True)
        for first in np.sort(firsts).tolist():
            group, place = int(groups[first]), int(places[first])
            if group in found or group in earlier:
                continue
            check(until)
            here = Cursor(int(chunk.keys[place]), int(chunk.ordinals[place]))
            ordinals = _visible_members(grouping.members(group, here.ordinal), visible)
            if after is not None and _is_before(ordinals, after, visible):
                earlier.add(group)
                continue
            if len(found) >= size and here != end:
                return list(found.values()), end
            found[group], end = _group(group, here.ordinal, ordinals, visible), here
        last = chunk.end
    if last == after:
        return list(found.values()), None
    rest = _chunks(visible, last, first=1, until=until)
    return list(found.values()), None if next(rest, None) is None else last


def _chunks(visible: Visible, after: Cursor | None, *, first: int, until: float) -> Iterator[Chunk]:
    runs, signals = visible.runs(), visible.signals
    return chunks_of(runs, signals, visible.among, after=after, newest_first=True, first=first, until=until)


def _visible_members(ordinals: NDArray[np.int64], visible: Visible) -> NDArray[np.int64]:
    latest = np.unique(ordinals)[-MOST_COUNTED:]
    return latest[visible.among(latest)]


def _is_before(ordinals: NDArray[np.int64], after: Cursor, visible: Visible) -> bool:
    """Whether one of `ordinals` is listed at or before the cursor, newest first."""
    times = visible.signals.occurred_at[ordinals]
    newer = (times > after.key) | ((times == after.key) & (ordinals >= after.ordinal))
    return bool(newer.any())


def _group(group: int, newest: int, ordinals: NDArray[np.int64], visible: Visible) -> Group:
    times = visible.signals.occurred_at[ordinals]
    return Group(group, newest, len(ordinals), int(times.min()), int(times.max()))
