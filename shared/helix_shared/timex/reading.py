"""What the rules share: the passage they read, the reading they return, and the context they may look at.

Guarantees that every look around a match is bounded (a few dozen characters), so a rule costs constant time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from helix_shared.timex.cues import NAMES_A_WORK, PHRASES

if TYPE_CHECKING:
    from collections.abc import Callable

    from helix_shared.timex.expression import Certainty, Direction, Grain
    from helix_shared.timex.windows import Frame, Window

_BEFORE_CHARS = 40
_INSIDE_SENTENCE = re.compile(r"[a-z] \Z")
_MORE_OF_A_NAME = re.compile(r" [A-Z][a-z]{1,20} [A-Z][a-z]")


class Passage(NamedTuple):
    """A text, its folded twin of the same length, and the frame it is read in."""

    text: str
    folded: str
    frame: Frame


@dataclass(frozen=True, slots=True)
class Reading:
    """What a rule made of a match.

    `fixed`: the window does not depend on the reference. `weak`: means a time only as an end of a range
    ("to May"). `cycle`: the implied part of a date without a year or month, or of a weekday, that a range
    may move. `certainty`: how well that part is known.
    """

    window: Window
    span: tuple[int, int]
    grain: Grain
    fixed: bool = False
    weak: bool = False
    cycle: Literal["year", "month", "week"] | None = None
    certainty: Certainty = "stated"

    def direction(self, frame: Frame) -> Direction:
        """Return where the window lies from the reference."""
        if self.fixed:
            return "absolute"
        start, end = self.window
        if end <= frame.now:
            return "past"
        starts_now = start == frame.now and self.grain == "range"
        return "future" if start > frame.now or starts_now else "present"


class Rule(NamedTuple):
    """A pattern and the reader of its match.

    The reader returns None, or raises ValueError, OverflowError or KeyError, when the match is no time.
    """

    pattern: re.Pattern[str]
    read: Callable[[Passage, re.Match[str]], Reading | None]


def words_before(passage: Passage, position: int) -> list[str]:
    """Return the last words in front of a position, without opening brackets and quotes, in order."""
    before = passage.folded[max(0, position - _BEFORE_CHARS) : position]
    return [word.lstrip("([{\"'*_") for word in before.split()]


def word_before(passage: Passage, position: int) -> str:
    """Return the cue word in front of a position, an article skipped, or an empty string."""
    words = words_before(passage, position)
    if words and words[-1] == "the":
        words.pop()
    return cue_of(words)


def cue_of(words: list[str]) -> str:
    """Return the last of some words, or the one word its phrase stands for ("before" for "prior to")."""
    return PHRASES.get(" ".join(words[-2:])) or (words[-1] if words else "")


def is_title_case(passage: Passage, span: tuple[int, int]) -> bool:
    """Tell whether a word is written like a name: "May", but neither "may" nor "MAY"."""
    return passage.text[span[0] : span[1]].istitle()


def is_work(passage: Passage, span: tuple[int, int]) -> bool:
    """Tell whether a word with a capital is the name of a song, film or book ("they wrote Yesterday")."""
    if not is_title_case(passage, span):
        return False
    words = words_before(passage, span[0])
    return bool(words) and words[-1] in NAMES_A_WORK


def begins_name(passage: Passage, span: tuple[int, int]) -> bool:
    """Tell whether a word inside a sentence begins a name of several words ("Friday Night Lights")."""
    return bool(_MORE_OF_A_NAME.match(passage.text, span[1])) and bool(
        _INSIDE_SENTENCE.search(passage.text, max(0, span[0] - 2), span[0])
    )
