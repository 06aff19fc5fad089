"""Which kind of value a question asks for; `stated_value` tells whether a text states one.

A question for a phone number, a price or a name has a narrow answer. A memory about the same things that
states no such value does not answer it, however near it is. A question for anything else ("why", "what
happened") asks for no value. Both are rules over words; a question that they cannot read asks for no value.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from helix_query.recall.query_text import read_query
from helix_shared.artifacts.lexicon.analysis import stems
from helix_shared.naming.persons import NOUN_PATTERN


class AskedKind(StrEnum):
    """Kinds of values."""

    PHONE = "phone"
    EMAIL = "email"
    VERSION = "version"
    MONEY = "money"
    NUMBER = "number"
    TIME = "time of day"
    COLOUR = "colour"
    NAME = "name"
    PERSON = "person"


@dataclass(frozen=True, slots=True)
class AskedValue:
    """What a question asks for."""

    kind: AskedKind
    about: frozenset[str]
    """Analysed words; a sentence with one of them is about the thing. The noun asked for, if it has one."""
    words: frozenset[str]
    """Words of the question in lower case: what it says itself is no answer."""
    durations: bool = False
    """A span of time counts as a number ("how long", "how old")."""


_UNIT_NOUNS: Final = (
    "size|limit|percentage|percent|score|weight|height|temperature|speed|rate|quota|distance|dosage|dose|"
    "timeout|ttl|threshold|count|pin|passcode|capacity|length|width|depth|pressure|interval|floor|storey|room|"
    "seat|row|platform|gate|port|number|plate|registration|postcode|zip code|grade|mark|balance|mileage"
)
_LONG: Final = re.compile(
    r"\bhow (?:long|old|often|far|late|early)\b|\b(?:age|timeout|ttl|interval)\b", re.IGNORECASE
)
_ASKS: Final = (
    (
        AskedKind.PHONE,
        re.compile(
            r"\b(?:phone|telephone|mobile|cell|whatsapp|fax)(?: |-)(?:number|no\b)|"
            r"\bnumber (?:do|should|can|shall) i (?:call|ring|text|dial)",
            re.IGNORECASE,
        ),
    ),
    (AskedKind.TIME, re.compile(r"\b(?:what|which) (?:time|hour)\b", re.IGNORECASE)),
    (AskedKind.COLOUR, re.compile(r"\b(?:what|which) colou?r\b", re.IGNORECASE)),
    (
        AskedKind.EMAIL,
        re.compile(r"\be-?mail address\b|\b(?:what|which)\b[^?]{0,60}\be-?mail\b", re.IGNORECASE),
    ),
    (
        AskedKind.VERSION,
        re.compile(r"\b(?:what|which)\b[^?]{0,60}\b(?P<noun>version|release)\b", re.IGNORECASE),
    ),
    (
        AskedKind.MONEY,
        re.compile(
            r"\bhow much (?:did|does|do|is|are|was|were|will|would|has|have|had|should|can|could|money|rent|"
            r"cash)\b|\b(?:what|which)\b[^?]{0,80}\b(?:price|prices|cost|costs|fee|fees|rent|salary|wage|"
            r"budget|bill|deposit|fare|quote|discount|pay|loan|charge)\b",
            re.IGNORECASE,
        ),
    ),
    (
        AskedKind.NUMBER,
        re.compile(
            r"\bhow (?:many|old|tall|big|large|heavy|fast|far|high|deep|wide)\b(?: (?P<noun>[\w'-]+))?|"
            rf"\b(?:what|which)(?:'?s| is| was| are| were)?\b[^?]{{0,60}}?\b(?P<unit>{_UNIT_NOUNS})\b",
            re.IGNORECASE,
        ),
    ),
    (
        AskedKind.NAME,
        re.compile(
            r"\b(?:what|which)(?:'?s| is| was| are| were)?\b[^?]{0,60}?\b(?:the )?(?:name|title)s? of "
            r"(?:[\w-]+'s? |(?:the|my|our|his|her|their) )?(?P<of>[\w-]+)|"
            r"\bwhat(?:'?s| is| was| are| were)\b[^?]{0,60}?(?P<called>[\w-]+) (?:called|named)\b|"
            r"\bwhat(?:'?s| is| was)\b[^?]{0,40}?(?P<whose>[\w-]+)(?:'s|s') (?:first |last |sur)?name\b|"
            rf"\bwhat(?:'?s| is| was)\b[^?]{{0,40}}?\b(?P<person>{NOUN_PATTERN})s (?:last |sur)?name\b|"
            r"\bwhat did [^?]{1,40}? (?:name|call) (?:the |her |his |their |its )?(?P<named>[\w-]+)|"
            r"\bwhat is the (?P<that>[\w-]+) called\b|"
            r"\bwhich (?:of (?:the|my|our|his|her|their|these|those) )?(?P<which>[a-z][\w-]+)\b",
            re.IGNORECASE,
        ),
    ),
    (
        AskedKind.PERSON,
        re.compile(r"^\W*(?:(?:and|so|but|ok|then)\W+)?(?:who|whose|whom|who'?s)\b", re.IGNORECASE),
    ),
)
_OTHER_NOUNS: Final = """
way one ones day days date dates time times month months year years week weeks weekend weekends morning
mornings afternoon afternoons evening evenings night nights hour hours season part parts side kind sort type
order direction half end is was are were do does did has have had can could will would should
"""
_NOT_A_NAME: Final = frozenset(_OTHER_NOUNS.split())
"""After "which": what such a thing is said to be is no name."""


def asked_value(question: str) -> AskedValue | None:
    """The value that a question asks for; None for most questions."""
    text = read_query(question)
    for kind, pattern in _ASKS:
        found = pattern.search(text)
        if found is None:
            continue
        noun = next((value for value in found.groupdict().values() if value), "")
        if kind is AskedKind.NAME and noun.lower() in _NOT_A_NAME:
            continue
        every = frozenset(stems(text))
        about = frozenset(stems(noun)) if kind is AskedKind.NAME else every
        words = frozenset(re.findall(r"[\w'-]+", text.lower()))
        return AskedValue(kind, about or every, words, durations=_LONG.search(text) is not None)
    return None
