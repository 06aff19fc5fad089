"""Deadlines: `until` is always a moment of the monotonic clock, and no wait of a call goes past it."""

from __future__ import annotations

import time
from typing import Final

from helix_shared.errors import PASSED, OverdueError

PASSED_IN_QUEUE: Final = f"{PASSED}; the call was still queued"


def deadline_of(remaining: float | None, *, limit: float) -> float:
    """The earlier of a caller's deadline, in `remaining` seconds, and one in `limit` seconds."""
    return time.monotonic() + (limit if remaining is None else min(limit, max(remaining, 0.0)))


def seconds_left(until: float, *, most: float | None = None) -> float:
    """Seconds until the deadline, at least 0 and at most `most`."""
    seconds = until - time.monotonic()
    return max(0.0, seconds if most is None else min(seconds, most))


def raise_if_overdue(until: float) -> None:
    """Raise OverdueError if the deadline has passed."""
    if time.monotonic() >= until:
        raise OverdueError(PASSED)
