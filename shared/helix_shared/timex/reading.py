"""What the rules share: the passage they read, the reading they return, and checks of the context of a match.

Every check looks at a few dozen characters at most, so a rule costs constant time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from helix_shared.timex.cues import CLEAR_WEEKDAYS, MOVING, NAMES_A_WORK, PHRASES
from helix_shared.timex.verbs import BY_ONESELF, SUBJECTS

if TYPE_CHECKING:
    from collections.abc import Callable

    from helix_shared.timex.expression import Certainty, Direction, Grain
    from helix_shared.timex.windows import Frame, Window

_BEFORE_CHARS = 40
_MOVED_WORDS = 7
_CONNECTING = frozenset(["and", "but", "or", "through", "in", "so"])
_WHERE = (["to"], ["from"])
""""We moved to March" is about the people."""
_INSIDE_SENTENCE = re.compile(r"[a-z] \Z")
_MORE_OF_A_NAME = re.compile(r" [A-Z][a-z]{1,20} [A-Z][a-z]")


class Passage(NamedTuple):
    """A text, its folded form of the same length, and the frame of its reference."""

    text: str
    folded: str
    frame: Frame
    asks: bool = False
    """It is a question."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The result of a rule.

    `fixed`: the window does not depend on the reference. `weak`: a time only if it is one end of a range ("to
    May"). `cycle`: the part that a date without a year or month, or a weekday, leaves out; a range may change
    it. `certainty`: how certain that part is.
    """

    window: Window
    span: tuple[int, int]
    grain: Grain
    fixed: bool = False
    weak: bool = False
    cycle: Literal["year", "month", "week"] | None = None
    certainty: Certainty = "stated"

    def direction(self, frame: Frame) -> Direction:
        """Return the position of the window relative to the reference."""
        if self.fixed:
            return "absolute"
        start, end = self.window
        if end <= frame.now:
            return "past"
        starts_now = start == frame.now and self.grain == "range"
        return "future" if start > frame.now or starts_now else "present"


class Rule(NamedTuple):
    """A pattern and the function that reads its match.

    The function returns None, or raises ValueError, OverflowError or KeyError, if the match is not a time.
    """

    pattern: re.Pattern[str]
    read: Callable[[Passage, re.Match[str]], Reading | None]


def words_before(passage: Passage, position: int) -> list[str]:
    """Return the last words before a position, in order, without opening brackets and quotes."""
    before = passage.folded[max(0, position - _BEFORE_CHARS) : position]
    return [word.lstrip("([{\"'*_") for word in before.split()]


def word_before(passage: Passage, position: int) -> str:
    """Return the cue word in front of a position, an article skipped, or an empty string."""
    words = words_before(passage, position)
    if words and words[-1] == "the":
        words.pop()
    return cue_of(words)


def cue_of(words: list[str]) -> str:
    """Return the last of some words, or the one word that replaces the phrase ("before" for "prior to")."""
    return PHRASES.get(" ".join(words[-2:])) or (words[-1] if words else "")


def is_moved(passage: Passage, position: int) -> bool:
    """Tell whether the words before a position say that something got another time ("the demo moved to")."""
    if passage.asks:
        return False
    words = passage.folded[max(0, position - _BEFORE_CHARS) : position].split()[-_MOVED_WORDS:]
    place = next((at for at in reversed(range(len(words))) if words[at] in MOVING), None)
    if place is None or any(word[-1] in ".,;:!?)" or word in _CONNECTING for word in words[place:]):
        return False
    subject = words[place - 1] if place else ""
    is_own = words[place] in BY_ONESELF and subject in SUBJECTS and words[place + 1 : place + 2] in _WHERE
    return not is_own


def is_title_case(passage: Passage, span: tuple[int, int]) -> bool:
    """Tell whether a word is written like a name: "May", but neither "may" nor "MAY"."""
    return passage.text[span[0] : span[1]].istitle()


def names_weekday(passage: Passage, span: tuple[int, int]) -> bool:
    """Tell whether a weekday, or its short form, is no other word: "thurs", "Sat", but not "sat" or "FRI"."""
    name, written = passage.folded[slice(*span)], passage.text[slice(*span)]
    clear = name in CLEAR_WEEKDAYS and not written.isupper()
    return name.endswith("day") or clear or is_title_case(passage, span)


def is_work(passage: Passage, span: tuple[int, int]) -> bool:
    """Tell whether a capitalised word is the title of a song, film or book ("they wrote Yesterday")."""
    if not is_title_case(passage, span):
        return False
    words = words_before(passage, span[0])
    return bool(words) and words[-1] in NAMES_A_WORK


def begins_name(passage: Passage, span: tuple[int, int]) -> bool:
    """Whether a word inside a sentence starts a name of several words ("Friday Night Lights")."""
    return bool(_MORE_OF_A_NAME.match(passage.text, span[1])) and bool(
        _INSIDE_SENTENCE.search(passage.text, max(0, span[0] - 2), span[0])
    )
