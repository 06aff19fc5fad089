"""Proper names: runs of capitalised words, without words that are capitalised for other reasons.

A single capitalised word at the start of a sentence is a name if it is no common word (`frequency`), is also
capitalised inside a sentence of the text, or is followed by a verb that only persons do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from helix_shared.naming.frequency import is_common
from helix_shared.naming.words import (
    CALENDAR,
    CONNECTIVES,
    FUNCTION_WORDS,
    NAMED_NEW,
    OPENERS,
    PERSON_VERBS,
    PLURAL_VERBS,
    TITLES_BEFORE_A_DOT,
)

RUN_WORDS: Final = 10
"""A longer run of capitalised words is a headline or shouting."""
WRAPPED_CHARACTERS: Final = 50
"""A line that is shorter ends where its writer ended it, not inside a name."""
SHOUTED_SHARE: Final = 0.6
"""With more of the words than this in capitals only, capitals say nothing."""
SHORTEST_SHOUT: Final = 5
_CONNECTIVES_IN_A_ROW: Final = 2

_FIRST_PERSON: Final = re.compile(r"I(?:['\u2019](?:m|ve|ll|d))?")
_DIGITS = r"\d{1,4}(?:st|nd|rd|th)?"
_NUMBER = re.compile(rf"{_DIGITS}|[IVXLC]{{1,6}}")
_COUNT = re.compile(_DIGITS)
_POSSESSIVE = re.compile(r"['\u2019]s?$")
_QUALIFIER = re.compile(r" \(([^()\n]{1,48})\)")
_NO_QUALIFIER = re.compile(
    r"[\W\d_]*$|.*[,;:=]|(?:born|died|formerly|founded|see|n\u00e9e?|nee|aka|e\.g|i\.e|c\.|b\.|d\.)\b",
    re.IGNORECASE,
)
_FIRST_WORD = re.compile(r"[\w'\u2019]+")


@dataclass(frozen=True, slots=True)
class Word:
    """A word of the text: its span without surrounding punctuation, and what surrounds it."""

    start: int
    end: int
    core: str
    before: str
    after: str
    opens: bool
    """Whether a sentence, line or quotation starts with it."""
    taken: bool
    """Whether it is part of a name of another kind."""

    @property
    def capital(self) -> bool:
        """Whether it is written with a capital and is a word."""
        return not self.taken and self.core[:1].isupper() and _FIRST_PERSON.fullmatch(self.core) is None


Span = tuple[int, int]


def find_proper_names(text: str, words: Sequence[Word]) -> Iterator[Span]:
    """Spans of proper names; in the order of the text; a possessor inside a name is a span too."""
    if _is_shouted(words):
        return
    inside = {word.core for word in words if word.capital and not word.opens}
    index = 0
    while index < len(words):
        if not words[index].capital:
            index += 1
            continue
        run = _run(text, words, index)
        index = run[-1] + 1
        yield from _names_of(text, words, run, inside)


def _is_shouted(words: Sequence[Word]) -> bool:
    letters = [word for word in words if any(map(str.isalpha, word.core))]
    loud = sum(word.core.isupper() and len(word.core) > 1 for word in letters)
    return len(letters) >= SHORTEST_SHOUT and loud > SHOUTED_SHARE * len(letters)


def _run(text: str, words: Sequence[Word], first: int) -> list[int]:
    """Indices of the words from `first` on that belong together."""
    run, index = [first], first
    while len(run) < RUN_WORDS and _goes_on(words[index]):
        reach = index + 1
        while reach < len(words) and reach - index <= _CONNECTIVES_IN_A_ROW and _binds(words, reach):
            reach += 1
        if reach >= len(words) or words[reach].before or not _may_follow(words[reach]):
            break
        if _are_lines(text, words[index].end, words[reach].start):
            break
        run.extend(range(index + 1, reach + 1))
        index = reach
    return run


def _goes_on(word: Word) -> bool:
    """Whether a name may continue after this word."""
    if word.after == ".":
        return len(word.core) == 1 or word.core.lower() in TITLES_BEFORE_A_DOT
    return not word.after


def _are_lines(text: str, end: int, start: int) -> bool:
    """Whether a line ends between two words, and was not just broken because it is long."""
    line_breaks = text.count("\n", end, start)
    if line_breaks != 1:
        return line_breaks > 1
    began = text.rfind("\n", max(0, end - WRAPPED_CHARACTERS), end) + 1
    return end - began < WRAPPED_CHARACTERS


def _binds(words: Sequence[Word], index: int) -> bool:
    word = words[index]
    return word.core in CONNECTIVES and not (word.before or word.after or word.taken)


def _may_follow(word: Word) -> bool:
    if word.taken:
        return False
    return word.capital or _NUMBER.fullmatch(word.core) is not None


def _names_of(text: str, words: Sequence[Word], run: list[int], inside: set[str]) -> Iterator[Span]:
    """The names of one run: without words that are not part of a name, split at possessives."""
    if _is_day([words[index].core for index in run]):
        return
    run = _trimmed(words, run)
    if not run or (len(run) == 1 and not _stands_alone(words, run[0], inside)):
        return
    start, end = words[run[0]].start, words[run[-1]].end
    if len(run) == 1 and _is_qualifier(text, start, end):
        return
    yield start, end
    if (qualifier := _QUALIFIER.match(text, end)) is not None and _tells_apart(qualifier[1]):
        yield start, qualifier.end()
    for place, index in enumerate(run[:-1]):
        bare, is_possessor = _POSSESSIVE.subn("", words[index].core)
        if is_possessor and bare.lower() not in FUNCTION_WORDS:
            yield start, words[index].end
            if len(run) - place > len(("possessor", "one word")):
                yield words[run[place + 1]].start, end
            break


def _tells_apart(qualifier: str) -> bool:
    """Whether words in parentheses are part of a name: "Bishop of Elmham", not "my sister" or "until May"."""
    first = _FIRST_WORD.match(qualifier)
    if first is not None and first[0].lower() in FUNCTION_WORDS:
        return False
    return _NO_QUALIFIER.match(qualifier) is None


def _is_day(cores: Sequence[str]) -> bool:
    """Whether words are a day without a year, which is a time: "Monday 30 Nov", "May 5th"."""
    numbers = sum(_COUNT.fullmatch(core) is not None for core in cores)
    named = sum(_POSSESSIVE.sub("", core).lower() in CALENDAR for core in cores)
    return numbers > 0 and named > 0 and numbers + named == len(cores)


def _is_qualifier(text: str, start: int, end: int) -> bool:
    """Whether a single word is in parentheses after a word: "Polish-Russian War (Film)"."""
    return (
        text[max(0, start - 2) : start] == " ("
        and text[end : end + 1] == ")"
        and not text[start:end].isupper()
    )


def _trimmed(words: Sequence[Word], run: list[int]) -> list[int]:
    first, last = 0, len(run)
    while first < last:
        core = words[run[first]].core.lower()
        opener = _opens_only(core) if words[run[first]].opens else core in FUNCTION_WORDS
        opener = opener and not (core == "new" and _is_named_new(words, run[first + 1 :]))
        if opener or (core in CALENDAR and last - first == 1):
            first += 1
        else:
            break
    while last > first and words[run[last - 1]].core.lower() in FUNCTION_WORDS:
        last -= 1
    return run[first:last]


def _opens_only(core: str) -> bool:
    """Whether a word that opens a sentence is no part of a name: "thanks", "he's", "didnt"."""
    return core.replace("\u2019", "'") in OPENERS


def _is_named_new(words: Sequence[Word], rest: Sequence[int]) -> bool:
    return bool(rest) and _POSSESSIVE.sub("", words[rest[0]].core).lower() in NAMED_NEW


def _stands_alone(words: Sequence[Word], index: int, inside: set[str]) -> bool:
    """Whether a single capitalised word is a name."""
    word = words[index]
    bare = _POSSESSIVE.sub("", word.core)
    lower = bare.lower()
    if lower in CALENDAR or lower in FUNCTION_WORDS or len(bare) < len("ab"):
        return False
    if not word.opens or bare in inside or bare.isupper() or any(map(str.isdigit, bare)):
        return True
    if lower in OPENERS or lower.endswith(("ing", "ly")):
        return False
    follower = words[index + 1].core if index + 1 < len(words) and not word.after else ""
    return follower in PERSON_VERBS if is_common(lower) else follower not in PLURAL_VERBS
