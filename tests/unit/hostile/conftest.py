"""Hostile texts and the measurement that separates linear from quadratic time."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Final

import pytest

CHARACTERS: Final = 100_000
"""The longest text an event may hold (`limits.TEXT_CHARACTERS`)."""
SHORTER: Final = 4
"""The text for comparison is this many times shorter."""
MOST_GROWTH: Final = 9.0
"""Linear time grows by 4 from the shorter to the long text, quadratic time by 16."""
REPEATS: Final = 3

UNITS: Final = {
    "newlines": "\n",
    "blank lines": " \n",
    "spaces": " ",
    "tabs": "\t",
    "no-break spaces": "\u00a0",
    "digits": "1",
    "dotted letters": "a.",
    "capitalised words": "Aa ",
    "short words": "a ",
    "one long word": "a",
    "capitals": "A",
    "double quotes": '"',
    "quoted words": '"A ',
    "backticks": "`",
    "closing brackets": ")]}",
    "paths": "/a",
    "back slashes": "\\a",
    "underscores": "_",
    "snake case": "a_",
    "dashes": "-",
    "dashed words": "a-",
    "scopes": "a::b",
    "assignments": "a=",
    "between": "and between 1 ",
    "last week": "last week ",
    "from to": "from 1 May to ",
    "to x": "to x, ",
    "set to": "we set a to b ",
    "caused by": "A was caused by b ",
    "mixed Chinese": "\u6771\u4eac\u306f a",
    "kana and marks": "\uff76\uff9e\u0301",
    "zero width": "\u200b",
    "combining marks": "\u0301\u0323",
    "accented letters": "e\u0301",
    "emoji": "\U0001f600",
    "question marks": "?",
    "short questions": "a? ",
    "commas": "a, ",
    "closed headings": "# # ",
    "code fences": "```\n",
    "fences and headings": "```\n# a\n",
    "front matter": "---\n",
    "exit codes": "Exit code: 1\n",
    "opened tags": "<system-reminder>",
    "opened folders": "<cwd>",
    "errors": "Error",
    "bars": "|a",
}


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


SHAPES: Final = (
    *(Shape(name, "a", unit) for name, unit in UNITS.items()),
    Shape("spaces behind a heading", "# a", " "),
    Shape("spaces behind a title", "title: a", " "),
    Shape("tabs behind a number", "1.", "\t"),
    Shape("spaces behind a sentence", "a. ", " "),
)


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


MIXTURES: Final = tuple(Mixture(SHAPES[at : at + 5]) for at in range(0, len(SHAPES), 5))
WORST: Final = ("newlines", "blank lines", "spaces", "digits", "one long word", "combining marks")
"""Shapes that come alone as well where every shape alone would take too long."""

Use = Callable[[str], object]


class Linear:
    """Asserts that a use of a text takes linear time, in seconds of this thread's processor time."""

    def __init__(self, *, floor_seconds: float, most_seconds: float) -> None:
        self._floor_seconds = floor_seconds
        self._most_seconds = most_seconds

    def failures(
        self, use: Use, *, characters: int = CHARACTERS, texts: Sequence[Shape | Mixture] = SHAPES
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
    started = time.thread_time()
    use(text)
    return time.thread_time() - started


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


@pytest.fixture
def mixtures() -> Sequence[Mixture]:
    """All shapes, a few to a text: a text that is walked needs fewer runs so."""
    return MIXTURES


@pytest.fixture
def mixtures_and_worst() -> Sequence[Mixture | Shape]:
    """The same, and the worst shapes alone."""
    return (*MIXTURES, *(shape for shape in SHAPES if shape.name in WORST))


@pytest.fixture
def linear_patterns() -> Linear:
    """For one pattern."""
    return Linear(floor_seconds=0.025, most_seconds=4.0)


@pytest.fixture
def linear_functions() -> Linear:
    """For a whole step of a service."""
    return Linear(floor_seconds=0.5, most_seconds=30.0)
