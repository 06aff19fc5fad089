"""The circuit breaker: after several failures in a row, requests stop for a time, then one is tried.

A pause doubles with every failed trial, up to `LONGEST_SECONDS`. A server that says when to come back
(Retry-After) is believed, up to the same bound.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, Literal

LONGEST_SECONDS: Final = 600.0

State = Literal["closed", "open", "half-open"]


class Breaker:
    """Used from one event loop."""

    def __init__(self, *, failures: int, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = failures
        self._first_seconds = seconds
        self._clock = clock
        self._failed = 0
        self._trips = 0
        self._open_until = 0.0
        self._is_trying = False

    @property
    def state(self) -> State:
        """Closed: questions are asked. Open: none is. Half-open: one is tried."""
        if self._clock() < self._open_until:
            return "open"
        return "half-open" if self._trips else "closed"

    @property
    def wait_seconds(self) -> float:
        """How long to wait before the next attempt to `enter`; 0: now."""
        left = self._open_until - self._clock()
        if left > 0:
            return left
        return self._first_seconds if self._trips and self._is_trying else 0.0

    def enter(self) -> bool:
        """Whether a question may be asked now; if so, `succeeded` or `failed` must follow."""
        if self.wait_seconds > 0:
            return False
        self._is_trying = bool(self._trips)
        return True

    def succeeded(self) -> None:
        """The server answered."""
        self._failed = self._trips = 0
        self._is_trying = False

    def failed(self) -> None:
        """The server did not answer, or not with an answer."""
        self._failed += 1
        if self._is_trying or self._failed >= self._most:
            self._open(min(LONGEST_SECONDS, self._first_seconds * 2.0 ** min(self._trips, 16)))
            self._trips += 1
            self._failed = 0
        self._is_trying = False

    def abandoned(self) -> None:
        """The request was cancelled before an answer, which counts neither as success nor as failure."""
        self._is_trying = False

    def pause(self, seconds: float) -> None:
        """The server asked for a pause; that is no failure."""
        self._is_trying = False
        self._open(min(LONGEST_SECONDS, max(seconds, self._first_seconds if self._trips else 1.0)))

    def _open(self, seconds: float) -> None:
        self._open_until = max(self._open_until, self._clock() + seconds)
