"""The sessions of a caller, the one with the newest memory first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from helix_query.listing.cursor import Cursor
from helix_query.listing.pages import chunks_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helix_query.listing.visible import Visible


@dataclass(frozen=True, slots=True)
class SessionCounts:
    """A session as the caller could recall it; times are microseconds since 1970."""

    session_id: str
    memories: int
    first_at: int
    last_at: int


def sessions_of(
    visible: Visible, *, after: Cursor | None, size: int, until: float
) -> tuple[list[SessionCounts], Cursor | None]:
    """The next `size` sessions behind `after`, and where they end; None: these are the last.

    Raises:
        OverdueError: `until`, a moment of the monotonic clock, has passed.
    """
    found: dict[int, SessionCounts] = {}
    ends: Cursor | None = None
    is_over = True
    codes = visible.signals.session_code
    for chunk in chunks_of(
        visible.runs(),
        visible.signals,
        visible.among,
        after=after,
        newest_first=True,
        first=size,
        until=until,
    ):
        distinct, firsts = np.unique(codes[chunk.ordinals], return_index=True)
        for place in np.sort(firsts[distinct != 0]).tolist():
            here = Cursor(int(chunk.keys[place]), int(chunk.ordinals[place]))
            code = int(codes[here.ordinal])
            if code in found:
                continue
            ordinals = _memories(here.ordinal, visible)
            if after is not None and _is_before(ordinals, after, visible):
                continue  # an earlier page has it
            if len(found) == size:
                return list(found.values()), ends
            found[code], ends = _counts(ordinals, here.ordinal, visible), here
        last, is_over = chunk.end, False
    if is_over:
        return list(found.values()), None
    rest = chunks_of(
        visible.runs(), visible.signals, visible.among, after=last, newest_first=True, first=1, until=until
    )
    return list(found.values()), None if next(rest, None) is None else last


def _memories(ordinal: int, visible: Visible) -> NDArray[np.int64]:
    """The listed memories of the session of a memory."""
    session = visible.signals.records(np.array([ordinal]))[0]["session_id"]
    runs = visible.snapshot.session_order.runs(visible.signals, visible.selection.tenant_id, session)
    parts = [run.ordinals(0, len(run.keys))[run.live(0, len(run.keys), visible.signals)] for run in runs]
    ordinals = np.concatenate([np.empty(0, np.int64), *parts])
    return ordinals[visible.among(ordinals)]


def _is_before(ordinals: NDArray[np.int64], after: Cursor, visible: Visible) -> bool:
    """Whether one of `ordinals` is listed at or before the cursor, newest first."""
    times = visible.signals.occurred_at[ordinals]
    newer = (times > after.key) | ((times == after.key) & (ordinals >= after.ordinal))
    return bool(newer.any())


def _counts(ordinals: NDArray[np.int64], newest: int, visible: Visible) -> SessionCounts:
    times = visible.signals.occurred_at[ordinals]
    session = str(visible.signals.records(np.array([newest]))[0]["session_id"])
    return SessionCounts(session, len(ordinals), int(times.min()), int(times.max()))
