"""What the rules share: the passage they read, the reading they return, and the context they may look at.

Guarantees that every look around a match is bounded (a few dozen characters), so a rule costs constant time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from helix_shared.timex.cues import OPENS_A_STRETCH, PHRASES

if TYPE_CHECKING:
    from collections.abc import Callable

    from helix_shared.timex.expression import Direction, Grain
    from helix_shared.timex.windows import Frame, Window

_BEFORE_CHARS = 40
_SENTENCE_CHARS = 120
_SENTENCE_END = re.compile(r"[.!?;\n]")
_FUTURE = re.compile(
    r"\b(?:will|won't|shall|gonna|going to|about to|upcoming|coming|due(?! to)|deadline|scheduled"
    r"|(?:must|should)(?! have)|needs?"
    r"|plan(?:s|ning|ned)? (?:to|on|for|from|until)|hop(?:e|es|ing) to|wants? to"
    r"|would like to|looking forward"
    r"|remind|expect(?:s|ing)?|let's|see you)\b|'ll\b"
    r"|(?:\b(?:am|are|is)(?: [a-z]{1,15}){0,2}|'(?:m|re|s)) "
    r"(?:going|flying|leaving|meeting|having|visiting|travell?ing|moving"
    r"|starting|seeing|getting|taking|hosting|throwing|launching|releasing|shipping|driving|heading|attending|performing"
    r"|joining|doing|running)\b"
)

# in front of a date without a year these tell a stretch, whose near end may lie ahead as well as behind
_STRETCH = frozenset(["from", "until", "till", "starting", "beginning", "through"])
_TO = re.compile(r"\s{1,3}(?:to|until|till|through)\b|\s?[-\u2013]")
_PRESENT = re.compile(
    r"\b(?:am|is|are|isn't|aren't|has|have|do|does|starts?|begins?|opens?|closes?|runs?|applies|apply|works?|lasts?|stays?|"
    r"takes? effect)\b|\w'(?:m|re|s)\b"
)
_PAST = re.compile(
    r"\b(?:was|were|wasn't|weren't|had|did|didn't|went|came|got|said|saw|took|made|began|ran|left|met"
    r"|[a-z]{2,20}ed)\b"
)
_STATES = re.compile(
    r"\b(?:closed|planned|scheduled|booked|reserved|fixed|limited|supposed|located|married|retired|blocked)\b"
)


class Passage(NamedTuple):
    """A text, its folded twin of the same length, and the frame it is read in."""

    text: str
    folded: str
    frame: Frame


@dataclass(frozen=True, slots=True)
class Reading:
    """What a rule made of a match.

    `fixed`: the window does not depend on the reference. `weak`: means a time only as an end of a range
    ("to May"). `cycle`: the implied part of a date without a year, or of a weekday, that a range may move.
    """

    window: Window
    span: tuple[int, int]
    grain: Grain
    fixed: bool = False
    weak: bool = False
    cycle: Literal["year", "week"] | None = None

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


def has_future_cue(passage: Passage, span: tuple[int, int]) -> bool:
    """Tell whether the sentence around a span, up to 120 characters to each side, speaks of the future."""
    start, end = span
    before = _SENTENCE_END.split(passage.folded[max(0, start - _SENTENCE_CHARS) : start])[-1]
    after = _SENTENCE_END.split(passage.folded[end : end + _SENTENCE_CHARS], maxsplit=1)[0]
    return bool(_FUTURE.search(before) or _FUTURE.search(after))


def implied(passage: Passage, span: tuple[int, int]) -> Literal["past", "future", "near"]:
    """Return which occurrence a date without a year (or a weekday) means; "since" always looks back.

    "near", the closer of the two, where the present tense tells a stretch: "we are closed from 21 December".
    """
    cue = word_before(passage, span[0])
    if cue == "since":
        return "past"
    if has_future_cue(passage, span):
        return "future"
    return "near" if _tells_stretch(passage, span, cue) and _is_present(passage, span) else "past"


def _tells_stretch(passage: Passage, span: tuple[int, int], cue: str) -> bool:
    """Tell whether a date is an end of a stretch; "photos from 21 December" names where they come from."""
    if cue != "from":
        return cue in _STRETCH
    words = words_before(passage, span[0])
    return bool(OPENS_A_STRETCH.intersection(words[-2:-1]) or _TO.match(passage.folded, span[1]))


def _is_present(passage: Passage, span: tuple[int, int]) -> bool:
    """Tell whether the sentence around a span is in the present tense."""
    start, end = span
    before = _SENTENCE_END.split(passage.folded[max(0, start - _SENTENCE_CHARS) : start])[-1]
    after = _SENTENCE_END.split(passage.folded[end : end + _SENTENCE_CHARS], maxsplit=1)[0]
    sentence = _STATES.sub("", f"{before} {after}")
    return bool(_PRESENT.search(sentence)) and not _PAST.search(sentence)


def is_title_case(passage: Passage, span: tuple[int, int]) -> bool:
    """Tell whether a word is written like a name: "May", but neither "may" nor "MAY"."""
    return passage.text[span[0] : span[1]].istitle()
