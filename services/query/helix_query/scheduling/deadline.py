"""The deadline of a call: `until`, a moment of the monotonic clock, that every wait of the call keeps to."""

from __future__ import annotations

import time
from typing import Final

from helix_shared.errors import OverdueError

PASSED: Final = "deadline passed before the answer was ready"
WAITED: Final = f"{PASSED}; the call waited for its turn until then"


def left(until: float, *, most: float | None = None) -> float:
    """Seconds until the deadline, never below 0, at most `most`."""
    seconds = until - time.monotonic()
    return max(0.0, seconds if most is None else min(seconds, most))


def check(until: float) -> None:
    """Raise OverdueError where the deadline has passed."""
    if time.monotonic() >= until:
        raise OverdueError(PASSED)
