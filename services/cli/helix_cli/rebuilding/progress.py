"""How far a rebuild is, and how long it takes."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

Say = Callable[[str], None]


@dataclass(slots=True)
class Progress:
    """How far it is, told every few seconds."""

    say: Say
    every_seconds: float = 5.0
    _started: float = 0.0
    _first: int = 0
    _told: float = 0.0

    def begin(self, done: int) -> None:
        """Count from here."""
        self._started = self._told = time.monotonic()
        self._first = done

    def reached(self, done: int, of: int) -> None:
        """Tell it if that is due."""
        now = time.monotonic()
        if now - self._told < self.every_seconds:
            return
        self._told = now
        rate = (done - self._first) / (now - self._started)
        left = duration((of - done) / rate) if rate else "unknown"
        self.say(f"embedded {done:,} of {of:,} events ({done / of:.0%}), {rate:.1f} a second, {left} left")

    @property
    def seconds(self) -> float:
        """Since `begin`."""
        return time.monotonic() - self._started


def duration(seconds: float) -> str:
    """A time for people."""
    if seconds < 90:  # noqa: PLR2004
        return f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.1f} h"  # noqa: PLR2004
