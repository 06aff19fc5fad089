"""Whom the first "he" or "she" of a turn means, by the turns before it.

It is sure only where the nearest turn that mentions a person who fits mentions one such person, and no name,
known or rare, that may be another.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from helix_ingest.extraction.persons.mentions import MOST_CHARACTERS, Mention, mentions
from helix_shared.text.scripts import is_of_word

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_PRONOUN: Final = re.compile(r"(?<![\w/-])(?:(he|him|his)|(she|her|hers))(?![\w/-])", re.IGNORECASE)
_IS_NAMED: Final = re.compile(r"\s+name\b|(?:['\u2019]s|\s+is)\s+(?:called|named)\b", re.IGNORECASE)
_OBJECT_FOLLOWS: Final = re.compile(
    r"\s*(?:[^\w\s]|$)|\s+(?:to|in|on|at|for|with|from|by|about|of|and|or|but|that|if|when|the|an?|my|our|your"
    r"|it|this|up|out|off|down|back|again|now|today|tomorrow|yesterday|so|as|because|than|before|after|i|we"
    r"|he|she|they|there|here|how|what|where|why|who|not|too|also|is|was|w|first|next|last|\w{1,20}(?:ly|ing))\b",
    re.IGNORECASE,
)
"""Behind "her" as an object, not as a possessor."""
MOST_PERSONS: Final = 12
"""Among more persons nobody is sure, and a hostile session would take long to read."""
_OTHER_SIDE: Final = {"my": "your", "our": "your", "your": "my"}


@dataclass(frozen=True, slots=True)
class Turn:
    """Who says what."""

    speaker: str
    text: str


@dataclass(slots=True)
class _Person:
    """One person of the session."""

    mention: Mention
    said_by: str
    turn: int
    """Number of the last turn that mentions the person."""
    genders: set[str] = field(default_factory=set)

    def fits(self, gender: str) -> bool:
        return not self.genders or self.genders == {gender}

    @property
    def is_sure(self) -> bool:
        """Whether it is a person, and one that can stand for a pronoun."""
        return self.mention.can_replace and (self.mention.known or bool(self.genders))


def has_pronoun(text: str) -> bool:
    """Whether a text says "he" or "she" in any form."""
    return _PRONOUN.search(text[:MOST_CHARACTERS]) is not None


def with_person(turn: Turn, before: Sequence[Turn]) -> str:
    """The text of `turn` with the name in place of its first "he" or "she"; empty where nothing is sure.

    `before` are the turns before it in its session, oldest first, that its memory may quote.
    """
    pronoun = _PRONOUN.search(turn.text[:MOST_CHARACTERS])
    if pronoun is None or not before or _is_quoted(turn.text, pronoun.start()):
        return ""
    if _IS_NAMED.match(turn.text, pronoun.end()):
        return ""
    gender = "m" if pronoun[1] else "f"
    persons = _persons(before)
    here = _mentioned(turn.text, persons)
    if any(mention.start < pronoun.start() and mention.gender in ("", gender) for mention in here):
        return ""
    fitting = [one for one in persons if one.fits(gender) and one.mention.key != turn.speaker.lower()]
    nearest = [one for one in fitting if one.turn == max(other.turn for other in fitting)]
    if len(nearest) != 1 or not nearest[0].is_sure:
        return ""
    if not nearest[0].genders and any(one.genders for one in fitting):
        # "Mum is home ... Dr Patel did it. Her pills are ...": whoever the doctor is, Mum is a woman
        return ""
    return _replaced(turn.text, pronoun, _named(nearest[0], turn.speaker))


def _persons(turns: Sequence[Turn]) -> list[_Person]:
    """The persons whom a pronoun after these turns may mean, each with the fullest words for it."""
    persons: list[_Person] = []
    for number, turn in enumerate(turns):
        found = [mention for mention in _mentioned(turn.text, persons) if mention.can_be_meant]
        for mention in found:
            person = _same_as(mention, persons)
            if person is None and len(persons) == MOST_PERSONS:
                return []
            if person is None:
                person = _Person(mention, turn.speaker, number)
                persons.append(person)
            fullest = max(person.mention, mention, key=lambda one: (one.can_replace, len(one.surface)))
            person.mention = replace(fullest, known=person.mention.known or mention.known)
            person.turn = number
            person.genders |= {mention.gender} - {""}
        _learn_gender(turn.text, found, persons)
    return persons


def _learn_gender(text: str, found: list[Mention], persons: list[_Person]) -> None:
    """A pronoun behind the only person of a turn tells the gender of the person."""
    pronouns = list(_PRONOUN.finditer(text[:MOST_CHARACTERS]))
    genders = {"m" if match[1] else "f" for match in pronouns}
    if len({mention.key for mention in found}) != 1 or len(genders) != 1:
        return
    person = _same_as(found[0], persons)
    if person is not None and found[0].start < pronouns[0].start():
        person.genders |= genders


def _mentioned(text: str, persons: list[_Person]) -> list[Mention]:
    """Mentions of a text, with the lower-case ones of names that are known."""
    found = mentions(text)
    taken = [(mention.start, mention.end) for mention in found]
    lower = text[:MOST_CHARACTERS].lower()
    for person in persons:
        for here, behind in _whole_words(person.mention.key, lower):
            if not any(start < behind and here < end for start, end in taken):
                found.append(replace(person.mention, start=here, end=behind))
                taken.append((here, behind))
    return sorted(found, key=lambda mention: mention.start)


def _whole_words(words: str, text: str) -> Iterator[tuple[int, int]]:
    """Where `words` stand in `text` with no letter or digit on either side."""
    start = text.find(words) if words else -1
    while start >= 0:
        end = start + len(words)
        if not any(map(is_of_word, text[max(0, start - 1) : start] + text[end : end + 1])):
            yield start, end
        start = text.find(words, end)


def _same_as(mention: Mention, persons: list[_Person]) -> _Person | None:
    return next((person for person in persons if _is_same(person.mention.key, mention.key)), None)


def _is_same(one: str, other: str) -> bool:
    short, long = sorted((one.split(), other.split()), key=len)
    return one == other or (len(short) == 1 and len(long) > 1 and short[0] in (long[0], long[-1]))


def _is_quoted(text: str, place: int) -> bool:
    opened = text.count("\u201c", 0, place) > text.count("\u201d", 0, place)
    return opened or text.count('"', 0, place) % 2 == 1


def _named(person: _Person, speaker: str) -> str:
    """The words for a person, from the point of view of the speaker: "my mother", "your mother"."""
    owner, _, rest = person.mention.surface.partition(" ")
    turned = _OTHER_SIDE.get(owner.lower())
    return person.mention.surface if turned is None or person.said_by == speaker else f"{turned} {rest}"


def _replaced(text: str, pronoun: re.Match[str], name: str) -> str:
    word = pronoun[0].lower()
    owns = word in ("his", "hers") or (word == "her" and not _OBJECT_FOLLOWS.match(text, pronoun.end()))
    return f"{text[: pronoun.start()]}{name}{chr(39) + 's' if owns else ''}{text[pronoun.end() :]}"
