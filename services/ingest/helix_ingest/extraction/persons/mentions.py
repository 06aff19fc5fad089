"""Persons that a turn mentions: by name ("Dr Okafor") or by a noun ("my mother", "the agent").

A word that may be a person, but is not known to be one, is found too, because it makes a pronoun unsure.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from helix_shared.naming import find_names
from helix_shared.naming.frequency import is_common
from helix_shared.naming.persons import NOUN_PATTERN, PERSON_NOUNS

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_CHARACTERS: Final = 1_000
"""Characters of a turn that are read."""
MOST_MENTIONS: Final = 32
"""Names of a turn that are read."""

_BEFORE_CHARACTERS: Final = 12
_BETWEEN_CHARACTERS: Final = 24
_LOWER: Final = re.compile(r"(?<![\w'@/.:_-])[a-z]{3,20}(?![\w@/:_-]|\.\w)")
"""A rare one of these words may be the name of a person, typed in lower case."""
_TELLING_LETTERS: Final = 4
"""Shorter ones are often abbreviations: they have to do what only persons do ("ada wants out")."""
_SAME: Final = {
    **dict.fromkeys(("mum", "mom", "mummy", "mommy"), "mother"),
    **dict.fromkeys(("dad", "daddy"), "father"),
    **dict.fromkeys(("grandma", "granny", "nan"), "grandmother"),
    **dict.fromkeys(("grandpa", "granddad"), "grandfather"),
    "auntie": "aunt",
    "neighbor": "neighbour",
    "physiotherapist": "physio",
    "bro": "brother",
    "sis": "sister",
}
"""Other words for the same person."""
_NOUN: Final = re.compile(
    r"(?<![\w-])(?:(?P<owner>my|our|your|his|her|their|the|an?|this|that)\s+(?:[a-z][\w-]+\s+){0,2}?)?"
    rf"(?P<noun>{NOUN_PATTERN})(?![\w-]|'s? (?:house|day))",
    re.IGNORECASE,
)
_UNOWNED: Final = frozenset({"mother", "father", "grandmother", "grandfather"})
"""Nouns that mean one person also without an article: "mum called"."""
_INDEFINITE: Final = frozenset({"a", "an", "this", "that"})
_POSSESSIVE: Final = re.compile(r"['\u2019]s?$")
_TITLE: Final = re.compile(
    r"(?P<m>Mr|Sir|Father|Brother|Uncle|Grandpa)?(?P<f>Mrs|Ms|Miss|Madam|Lady|Sister|Aunt|Auntie|Grandma)?"
    r"(?P<e>Dr|Prof|Professor|Doctor|Coach|Captain)?\.?\s",
    re.IGNORECASE,
)
_LINKED: Final = re.compile(r"(?:'s)?,?\s+(?:(?:is|was)\s+)?(?:(?:called|named|an?|my|our|the)\s+){0,2}")
_PLACE_BEFORE: Final = re.compile(
    r"\b(?:in|at|near|around|across|via|inside|outside|on|into|through|the|an?|of|using|called)\s+$",
    re.IGNORECASE,
)
_GREETED: Final = re.compile(
    r"(?:\b(?:hi|hello|hey|dear|thanks|thank you|cheers|morning)\s*|,\s*)$", re.IGNORECASE
)
_ADDRESS_ENDS: Final = re.compile(r"\s*[.!?,:)\u2026]|\s*$|\s+[^\w\s]")
_FEELS_OR_SAYS = (
    r"said|says|told|tells|asked|asks|thinks|thought|wants|wanted|likes|liked|loves|loved|hates|came"
    r"|called|knows|knew|feels|felt|lives|lived|agreed|agrees|promised|hopes|refuses|turned|died"
)
"""What persons do, and things seldom."""
_PERSON_BEHIND: Final = re.compile(
    rf"\s+(?:{_FEELS_OR_SAYS}|comes|left|wrote|brought|got|gets|has|had|sent|took|takes|gave|gives|makes|made"
    r"|moved|joined|started|will|is|was)\b"
)
_ONLY_PERSON_BEHIND: Final = re.compile(
    rf"\s+(?:{_FEELS_OR_SAYS}|hated|needs|broke|turns|cried|wears|eats|sleeps)\b"
)
_PERSON_BEFORE: Final = re.compile(
    r"\b(?:with|w|and|met|meet|meeting|told|tell|asked|ask|saw|see|from|invited|helped|for|to|by|about|called"
    r"|thanks to|than|like)\s+$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Mention:
    """A person at one place of a text."""

    surface: str
    """Words that can stand for the pronoun."""
    key: str
    """Lower-case name without title, or noun."""
    gender: str
    """"m", "f", or empty where it is not told."""
    start: int
    end: int
    known: bool
    """Whether it is surely a person."""
    can_be_meant: bool = True
    """Whether a later pronoun may mean it: not an addressed person."""
    can_replace: bool = True
    """Whether its words may stand for a pronoun: not "a woman", not a rare word in lower case."""


def mentions(text: str) -> list[Mention]:
    """Persons, and names that may be persons, in the order of the text; an addressed person is none."""
    read = text[:MOST_CHARACTERS]
    nouns = list(_nouns(read))
    inside = [(noun.start, noun.end) for noun in nouns]
    found: list[Mention] = []
    for name in _names(read):
        beside = [noun for noun in nouns if _are_one(read, name, noun)]
        nouns = [noun for noun in nouns if noun not in beside]
        gender = next((noun.gender for noun in beside if noun.gender), name.gender)
        found.append(replace(name, gender=gender, known=name.known or bool(beside)))
    inside += [(name.start, name.end) for name in found]
    found += _rare_words(read, inside)
    found += [
        noun for noun in nouns if not any(one.start <= noun.start and noun.end <= one.end for one in found)
    ]
    return sorted(found, key=lambda mention: mention.start)


def _nouns(text: str) -> Iterator[Mention]:
    for match in _NOUN.finditer(text):
        noun = match["noun"].lower()
        key = _SAME.get(noun, noun)
        if match["owner"] or key in _UNOWNED:
            known = (match["owner"] or "").lower() not in _INDEFINITE
            yield Mention(
                match[0], key, PERSON_NOUNS[noun], match.start(), match.end(), known=known, can_replace=known
            )


def _names(text: str) -> Iterator[Mention]:
    last = 0
    for name in find_names(text)[:MOST_MENTIONS]:
        start, end = name.span
        if name.kind != "name" or start < last or any(map(str.isdigit, name.surface)):
            continue
        last = end
        surface = _POSSESSIVE.sub("", name.surface)
        title = _TITLE.match(surface)
        if title is not None and title[0].strip(" ."):
            gender = "m" if title["m"] else "f" if title["f"] else ""
            yield Mention(surface, surface[title.end() :].lower(), gender, start, end, known=True)
        elif not _PLACE_BEFORE.search(text, max(0, start - _BEFORE_CHARACTERS), start):
            if surface.isupper() and len(surface) > 1:
                continue
            known = bool(_PERSON_BEHIND.match(text, end))
            meant = not _is_addressed(text, start, end)
            yield Mention(surface, surface.lower(), "", start, end, known=known, can_be_meant=meant)


def _rare_words(text: str, taken: list[tuple[int, int]]) -> Iterator[Mention]:
    """Rare words in lower case, outside `taken`, that stand where the name of a person does."""
    for match in _LOWER.finditer(text):
        start, end = match.span()
        if is_common(match[0]) or any(first < end and start < last for first, last in taken):
            continue
        if _acts(text, start, end):
            yield Mention(match[0], match[0], "", start, end, known=False, can_replace=False)


def _acts(text: str, start: int, end: int) -> bool:
    """Whether a rare word in lower case stands where the name of a person does."""
    opens = not text[:start].strip() or text[:start].rstrip()[-1] in ".!?\n,"
    if end - start < _TELLING_LETTERS:
        return _ONLY_PERSON_BEHIND.match(text, end) is not None
    if _PERSON_BEHIND.match(text, end):
        return True
    owns = text.startswith(("'s", "\u2019s"), end)
    return bool(opens or owns or _PERSON_BEFORE.search(text, max(0, start - _BEFORE_CHARACTERS), start))


def _is_addressed(text: str, start: int, end: int) -> bool:
    """Whether a name calls somebody: "Thanks, Ada.", "Ann, can you ...?"."""
    if not _ADDRESS_ENDS.match(text, end):
        return False
    head = text[:start].strip()
    return (
        not head
        or head[-1] in ".!?\n"
        or bool(_GREETED.search(text, max(0, start - _BEFORE_CHARACTERS), start))
    )


def _are_one(text: str, name: Mention, noun: Mention) -> bool:
    """Whether a noun and a name stand for one person: "my brother Tom", "boss is Ada", "Ada, my boss"."""
    first, second = sorted((name, noun), key=lambda mention: mention.start)
    if noun.start >= name.start and noun.end <= name.end:
        return True
    between = text[first.end : second.start]
    return (
        len(between) < _BETWEEN_CHARACTERS
        and bool(_LINKED.fullmatch(between))
        and not (first is name and "'s" in between)
    )
