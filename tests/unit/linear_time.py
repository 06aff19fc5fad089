"""The measurement that separates linear from quadratic time, whatever else the machine does."""

from __future__ import annotations

import contextlib
import gc
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Final

CHARACTERS: Final = 100_000
"""The longest text an event may hold (`limits.TEXT_CHARACTERS`)."""
SHORTER: Final = 4
"""The text for comparison is this many times shorter."""
MOST_GROWTH: Final = 9.0
"""Linear time grows by 4 from the shorter to the long text, quadratic time by 16."""
REPEATS: Final = 8
"""Measurements of a use that seems not linear; of each length the shortest time counts."""

Use = Callable[[str], object]


class TooSlowError(BaseException):
    """Raised by the clock inside the measured code; no `except Exception` there may catch it."""


@dataclass(frozen=True, slots=True)
class Shape:
    """One hostile text at any length."""

    name: str
    head: str
    unit: str

    def text(self, characters: int) -> str:
        """Exactly `characters` long."""
        run = characters - len(self.head) - 1
        return f"{self.head}{(self.unit * (run // len(self.unit) + 1))[:run]}b"


def repeated(*pieces: str) -> list[Shape]:
    """One text of each piece, over and over."""
    return [Shape(repr(piece), "", piece) for piece in pieces]


@dataclass(frozen=True, slots=True)
class Mixture:
    """Several hostile texts, one after the other, each with an equal part of the length."""

    shapes: Sequence[Shape]

    @property
    def name(self) -> str:
        """The names of the parts."""
        return ", ".join(shape.name for shape in self.shapes)

    def text(self, characters: int) -> str:
        """At most `characters` long."""
        each = characters // len(self.shapes) - 1
        return "\n".join(shape.text(each) for shape in self.shapes)


class Linear:
    """Asserts that a use of a text takes linear time, in seconds of this thread's processor time."""

    def __init__(self, *, floor_seconds: float, most_seconds: float) -> None:
        self._floor_seconds = floor_seconds
        self._most_seconds = most_seconds

    def failures(
        self, use: Use, *, texts: Sequence[Shape | Mixture], characters: int = CHARACTERS
    ) -> list[str]:
        """A line for every one of `texts` on which a use is not linear, or takes too long all the same."""
        found = ((text.name, self._failure(use, text, characters)) for text in texts)
        return [f"on {name}: {reason}" for name, reason in found if reason]

    def _failure(self, use: Use, shape: Shape | Mixture, characters: int) -> str:
        long, short = shape.text(characters), shape.text(characters // SHORTER)
        try:
            with _at_most(self._most_seconds):
                # time below the floor is linear enough: a quadratic use takes seconds
                if (whole := _seconds(use, long)) < self._floor_seconds:
                    return ""
                part = _seconds(use, short)
                for _ in range(REPEATS):
                    if whole > MOST_GROWTH * part:
                        part, whole = min(part, _seconds(use, short)), min(whole, _seconds(use, long))
                if whole <= MOST_GROWTH * part:
                    return ""
        except TooSlowError:
            return f"more than {self._most_seconds} s"
        return f"grows by {whole / part:.1f} when the text grows by {SHORTER}"


def _seconds(use: Use, text: str) -> float:
    """Without the collector, which walks what all tests before have made, and more often for a long text."""
    gc.disable()
    try:
        started = time.thread_time()
        use(text)
        return time.thread_time() - started
    finally:
        gc.enable()


@contextlib.contextmanager
def _at_most(seconds: float) -> Iterator[None]:
    """Interrupts what takes longer, also inside one regular expression, in seconds of processor time."""

    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        raise TooSlowError

    before = signal.signal(signal.SIGPROF, interrupt)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
