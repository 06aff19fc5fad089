"""The memories of a session, of a span of time, or around a memory, in the order in which they happened."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from helix_query.listing.cursor import Cursor
from helix_query.listing.pages import Page, page_of
from helix_shared.errors import NotFoundError
from helix_shared.moments import microseconds

if TYPE_CHECKING:
    from datetime import datetime

    from numpy.typing import NDArray

    from helix_query.listing.visible import VisibleMemories


@dataclass(frozen=True, slots=True)
class Span:
    """From `after` until before `before`; None: no bound."""

    after: datetime | None
    before: datetime | None

    def contains(self, times: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of the times [n], microseconds since 1970, lie in it."""
        inside = np.ones(len(times), np.bool_)
        if self.after is not None:
            inside &= times >= microseconds(self.after)
        if self.before is not None:
            inside &= times < microseconds(self.before)
        return inside


def around(memory_id: str, visible: VisibleMemories, *, size: int, until: float) -> NDArray[np.int64]:
    """Ordinals of a memory, of those before and of those after it, `size` in all.

    Raises:
        NotFoundError: there is no such memory, or the caller may not see it.
        OverdueError: `until`, a moment of the monotonic clock, has passed.
    """
    middle = visible.snapshot.ordinals_of([memory_id])
    if not len(middle) or not visible.is_visible(middle).all():
        raise NotFoundError(f"no memory {memory_id} is visible to this scope")
    [ordinal] = middle.tolist()
    here = Cursor(int(visible.signals.occurred_at[ordinal]), ordinal)
    parts = [middle]
    for newest_first, count in ((True, (size - 1) // 2), (False, size - 1 - (size - 1) // 2)):
        found = _nearest(visible, here, newest_first=newest_first, count=count, until=until)
        parts = [found[::-1], *parts] if newest_first else [*parts, found]
    return np.concatenate(parts)


def _nearest(
    visible: VisibleMemories, here: Cursor, *, newest_first: bool, count: int, until: float
) -> NDArray[np.int64]:
    """The next `count` listed memories on one side of `here`; it reads on until there are so many."""
    parts, left, runs = [np.empty(0, np.int64)], count, visible.runs()
    after: Cursor | None = here
    while left and after is not None:
        page = page_of(
            runs, visible.signals, visible.is_visible,
            after=after, newest_first=newest_first, size=left, until=until,
        )  # fmt: skip
        parts.append(page.ordinals)
        left, after = left - len(page.ordinals), page.end
    return np.concatenate(parts)


def in_session(
    session_id: str, span: Span, visible: VisibleMemories, *, after: Cursor | None, size: int, until: float
) -> Page:
    """A page of a session, in the order of the log.

    Raises:
        OverdueError: as `around`.
    """
    times = visible.signals.occurred_at
    return page_of(
        visible.snapshot.session_order.runs(visible.signals, visible.selection.tenant_id, session_id),
        visible.signals,
        lambda ordinals: visible.is_visible(ordinals) & span.contains(times[ordinals]),
        after=after, newest_first=False, size=size, until=until,
    )  # fmt: skip


def in_span(span: Span, visible: VisibleMemories, *, after: Cursor | None, size: int, until: float) -> Page:
    """A page of a span of time, by time.

    Raises:
        OverdueError: as `around`.
    """
    runs = []
    for run in visible.runs():
        first = 0 if span.after is None else int(np.searchsorted(run.keys, microseconds(span.after)))
        last = len(run.keys)
        if span.before is not None:
            last = int(np.searchsorted(run.keys, microseconds(span.before)))
        runs.append(replace(run, keys=run.keys[first:last], rows=run.rows[first:last]))
    return page_of(
        runs, visible.signals, visible.is_visible, after=after, newest_first=False, size=size, until=until
    )
