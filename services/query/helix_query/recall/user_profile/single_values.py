"""Facts of which a person has one at a time, extracted from a sentence of a profile.

The rules prefer no value to a wrong one: a plan ("I might move to Porto"), what was long ago, somebody else's
home, a possession ("we have a flat in Porto") and words without a name give none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from helix_query.recall.user_profile.fact_rules import ANY_RULE, RULES
from helix_shared.naming import canonical, find_names
from helix_shared.naming.frequency import is_common
from helix_shared.naming.persons import NATIONALITY_ENDING
from helix_shared.naming.words import CALENDAR, FUNCTION_WORDS, TITLES_BEFORE_A_DOT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from helix_query.recall.user_profile.fact_rules import Rule

READ_CHARACTERS: Final = 400
"""Characters of a sentence that are read; ingest takes no longer one for a statement about its author."""
READ_SENTENCES: Final = 2_048
"""Sentences whose values are cached: every profile of a user reads the same ones."""
VALUE_CHARACTERS: Final = 60
"""A value stands within so many characters behind the words that announce it."""

_UNREAL: Final = re.compile(
    r"\b(?:if|unless|wish\w*|might|may|could|would|should|almost|nearly|never|not|dream\w*|imagin\w*"
    r"|pretend\w*|when|until|till|before|used to|once|said|thinks?|thought|maybe|perhaps|hop\w+|want\w*|after"
    r"|where|since|because)\b|n['\u2019]t\b",
    re.IGNORECASE,
)
"""In front of the words of a rule, in its clause: they do not state what is so now."""
_BESIDE: Final = re.compile(
    r"\btoo(?=\W{0,3}(?:$|[,.;!?]))"
    r"|\b(?:also|as well|both|second|other|another|part[- ]?time|on the side|side (?:job|gig)"
    r"|(?<!last )(?<!this )(?<!that )weekends?|evenings?|freelanc\w+|half|partly|sometimes|weekdays"
    r"|during the week|summers?|winters?"
    r"|holidays?|temporar\w+|for now|for a (?:while|bit)|until|till|volunteer\w*|intern\w*|besides"
    r"|in addition|between|commut\w+|split|on (?:mon|tues|wednes|thurs|fri|satur|sun)days|every other"
    r"|alternat\w+"
    r"|for (?:the|an?|one|two|three|four|five|six|\d+) (?:\w+ )?(?:weeks?|months?|semester|year))\b",
    re.IGNORECASE,
)
"""The value holds beside another one, or for a while."""
_CHANGE: Final = re.compile(
    r"\b(?:now|nowadays|these days|no longer|any ?more|since (?:last|this)|as of)\b", re.IGNORECASE
)
_LONG_AGO: Final = re.compile(
    r"\b(?:(?:years|decades?|a year) ago|when i was|as a (?:kid|child|boy|girl|teen\w*|student|baby)|back in"
    r"|originally|at first|first job|after (?:school|uni\w*|college)|for \w+ years|in (?:my|the) \w+ties)\b",
    re.IGNORECASE,
)
_YEAR: Final = re.compile(r"\b(?:19|20)\d\d\b")
_NO_PLACE: Final = re.compile(
    r"\b(?:team|department|dept|group|squad|project|class|course|gym|club|choir|league|branch|version|meeting"
    r"|appointment|office|desk|table|position|role|seat|library|framework|editor|app|plan)\b",
    re.IGNORECASE,
)
"""Words for things that are no place; the words of an open rule are also used for them."""
_END: Final = re.compile(
    r"[;:()!?\n]|\.(?:\s|$)|,? (?:with|because|since|so|but|for|after|when|which|where|while|as|until|than"
    r"|who|from|last|this|next|on|and (?:i|we|my|our|work|am|have|love|like|it|the|study|teach|run|now|got)"
    r"|in (?:january|february|march|april|may|june|july|august|september|october|november|december|spring"
    r"|summer|autumn|winter|\d))\b",
    re.IGNORECASE,
)
"""Where the words for a value end."""
_EMPLOYER_ENDS: Final = re.compile(r",| in | near ", re.IGNORECASE)
_AND: Final = re.compile(r",? (?:and|or|&) (?:also )?(?:in |at |for |near )?| ?/ ?", re.IGNORECASE)
_LOWER: Final = re.compile(r"(?<![\w'@/.-])[a-z\u00e0-\u024f]{3,20}(?![\w@/-]|\.\w)")
_THING: Final = re.compile(
    r"(?:an?|the|my|our) (?:[\w-]+ ){0,2}?(?P<noun>[a-z]{4,20})(?= (?:around|now)\b|$)"
)
_NO_EMPLOYER: Final = frozenset({"home", "weekend", "moment", "office", "night", "desk", "time", "company"})
_PHONES: Final = frozenset({"number", "mobile", "cell"})
_CLAUSE_ENDS: Final = re.compile(r", (?:and |but )?| (?:and|but) |; ?| [\u2013\u2014-] ")
_SPEAKER: Final = re.compile(r"\b(?:i|we)\b", re.IGNORECASE)
_OWN_SUBJECT: Final = re.compile(r"(?:i|we|my|our|im)\b", re.IGNORECASE)
_VERB: Final = re.compile(
    r"(?:work|live|study|teach|play|love|like|hate|prefer|have|own|run|speak|sing|coach|volunteer|am|moved"
    r"|started)\b"
)


@dataclass(frozen=True, slots=True)
class FactValue:
    """A fact that a sentence states, and the words that state it: `sentence[start:end]`."""

    fact: str
    names: frozenset[str]
    """Names of the value in canonical form; "Paris, France" has two. May be empty where the value ends."""
    is_new_value: bool
    allows_others: bool
    """Whether another value may hold at the same time."""
    is_ambiguous: bool
    """Whether the words are also said of other facts."""
    ends_value: bool
    """Whether it holds no longer."""
    is_complete_value: bool
    """Whether the words give the whole value: "four nights, three off" and "two nights, five off" differ."""
    start: int
    end: int

    def differs(self, other: FactValue) -> bool:
        """Whether no word of a name is common to both: "Ana Silva" and "Ana" are one."""
        if self.is_complete_value:
            return self.names != other.names
        return self._words().isdisjoint(other._words())

    def _words(self) -> set[str]:
        words = {word.rstrip(".") for name in self.names for word in name.split()}
        return words - TITLES_BEFORE_A_DOT or words


@lru_cache(READ_SENTENCES)
def values_of(sentence: str, year: int) -> tuple[FactValue, ...]:
    """The facts that a sentence of the year states, at most one for each rule."""
    read = sentence[:READ_CHARACTERS]
    if ANY_RULE.search(read) is None:
        return ()
    return tuple(value for rule in RULES if (value := _value_by(rule, read, year)) is not None)


def without_values(sentence: str, values: Sequence[FactValue]) -> str:
    """The sentence without the clauses that state `values`; empty if the rest is no sentence."""
    if not values:
        return sentence
    cuts = list(_CLAUSE_ENDS.finditer(sentence))
    starts, ends = [0, *(cut.end() for cut in cuts)], [*(cut.start() for cut in cuts), len(sentence)]
    kept = [
        (start, sentence[start:end].strip())
        for start, end in zip(starts, ends, strict=True)
        if not any(value.start < end and start < value.end for value in values)
    ]
    rest = ", ".join(clause for _, clause in kept)
    if len(rest.split()) <= len(("subject", "verb")):
        return ""
    if kept[0][0] == 0 or _OWN_SUBJECT.match(rest):
        return rest[0].upper() + rest[1:]
    subject = _SPEAKER.search(sentence)
    return f"{subject[0].capitalize()} {rest}" if subject and _VERB.match(rest) else ""


def _value_by(rule: Rule, read: str, year: int) -> FactValue | None:
    match = rule.words.search(read)
    if match is None or _states_no_fact(rule, match, read, year):
        return None
    groups = match.groupdict()
    start, end = match.span("value") if groups.get("value") else (match.end(), match.end() + VALUE_CHARACTERS)
    if rule.value != "words":
        ended = _END.search(read, start, end)
        end = min(len(read), end) if ended is None else ended.start()
    spans = _spans(rule, read, start, end)
    if not spans and not (rule.ends_value and rule.value == "name"):
        return None
    fact = rule.fact or _fact(groups["fact"])
    surfaces = [read[slice(*span)] for span in spans]
    several = any(_AND.fullmatch(read, one[1], other[0]) for one, other in pairwise(spans))
    return FactValue(
        fact=fact,
        names=frozenset(_digits(one) if fact == "phone" else canonical(one) for one in surfaces),
        is_new_value=rule.is_new_value or bool(groups.get("change")) or _CHANGE.search(read) is not None,
        allows_others=not rule.is_complete_value
        and (several or rule.allows_others or _BESIDE.search(read) is not None),
        is_ambiguous=rule.is_ambiguous,
        ends_value=rule.ends_value,
        is_complete_value=rule.is_complete_value,
        start=match.start(),
        end=end,
    )


def _fact(words: str) -> str:
    """The fact that these words announce; every kind of number is a phone number."""
    first = words.lower().replace("-", "").split()[0]
    return "phone" if first in _PHONES else first


def _digits(surface: str) -> str:
    """A phone number without spaces and signs."""
    return "".join(filter(str.isdecimal, surface))


def _states_no_fact(rule: Rule, match: re.Match[str], read: str, year: int) -> bool:
    """Whether a match states nothing that holds: a condition, a doubt, long ago, another thing."""
    clauses = [cut.end() for cut in _CLAUSE_ENDS.finditer(read, 0, match.start())]
    if _UNREAL.search(read, clauses[-1] if clauses else 0, match.start()):
        return True
    if rule.is_ambiguous and _NO_PLACE.search(read):
        return True
    years = (int(one[0]) for one in _YEAR.finditer(read))
    return rule.may_be_long_ago and (_LONG_AGO.search(read) is not None or any(one < year for one in years))


def _spans(rule: Rule, read: str, start: int, end: int) -> list[tuple[int, int]]:
    """Where the names of a value are."""
    if rule.value == "words":
        return [(start, end)]
    if rule.fact == "work" and (place := _EMPLOYER_ENDS.search(read, start, end)) is not None:
        end = place.start()
    found = [name.span for name in find_names(read) if name.kind == "name" and start <= name.span[0] < end]
    if not found:
        found = [word.span() for word in _LOWER.finditer(read, start, end) if _is_rare(word[0])]
    if rule.value == "person":
        return [
            span
            for span in found[:1]
            if span[0] == start and not NATIONALITY_ENDING.search(read[start : span[1]])
        ]
    if not found and rule.value == "name_or_thing":
        thing = _THING.match(read[start:end])
        if thing is not None and thing["noun"] not in _NO_EMPLOYER:
            found = [(start + thing.start("noun"), start + thing.end("noun"))]
    return found


def _is_rare(word: str) -> bool:
    return word not in FUNCTION_WORDS and word not in CALENDAR and not is_common(word)
