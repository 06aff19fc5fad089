"""Typed relations between two named things, by rules: who works for whom, what replaced what.

A relation holds between the name before a verb and the name behind it, or the other way round in the passive
voice. Only few words may stand between name and verb, so that a negation ("does not work for"), a modal verb
or another clause prevents it. A question, an assumption or what somebody thinks states no relation.
"I", also as "i", and "me" are the speaker, or the user whose turn it is.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from helix_kg.predicates import BETWEEN_PERSONS, RULES, THROUGH_PLACES, Rule
from helix_kg.sentences import sentence_spans
from helix_shared.naming import Name
from helix_shared.naming.persons import NATIONALITY_ENDING, NOUN_PATTERN
from helix_shared.naming.words import FUNCTION_WORDS
from helix_shared.text.apostrophes import SHORT_FORMS
from helix_shared.text.scripts import ends_with_question_mark

SENTENCES: Final = 200
"""Sentences of one text that are read."""
_NAMES_BACK: Final = 4
"""Names before a verb that are tried as its subject."""
_NO_SIDE: Final = frozenset({"date", "version", "error", "issue"})
"""Kinds of names that are no side of a relation."""

_DAY: Final = re.compile(
    r"(?:january|february|march|april|may|june|july|august|september|october|november|december) \d"
)
"""A day is no side either; only some of its forms have the kind date."""

_NOT_TYPED: Final = "|".join(typed for typed, spelt in SHORT_FORMS.items() if spelt.endswith("n't"))
"""Negations without their apostrophe: "isnt", "dont"."""
_UNSURE = re.compile(
    r"\b(?:if|whether|unless|maybe|perhaps|probably|possibly|allegedly|suppos\w+|imagine\w*|wish\w*|might"
    r"|may|could|would|should|doubt\w*|thinks?|thought|guess\w*|hop(?:e|es|ed|ing)|wants?|wanted|wonder\w*"
    r"|pretend\w*|not|never|nobody|cannot|without|rumou?rs?|claims?|claimed|plan(?:s|ned|ning)?|almost"
    r"|nearly|denie[sd]|refuse[sd]?|instead of|joked?|joking|dreamt|dreamed|what|once"
    r"|neither|nor|no(?:[ -]one|ne)|false|untrue|a lie"
    rf"|{_NOT_TYPED})\b|n['\u2019]t\b",
    re.IGNORECASE,
)
_WE = re.compile(
    r"\b(?:I|[Mm]y|me)\b|(?<![\w.'\u2019-])(?:i(?=(?:['\u2019](?:m|ve|d|ll))?\s[a-z])|[Ii](?=(?:m|ve)\s[a-z]))"
)
""""i" and "im" are how many people type it; in "i.e." and "i = 0" it is nobody."""
_QUOTED = re.compile(r"\"[^\"\n]{1,400}+\"|\u201c[^\u201d\n]{1,400}+\u201d|^[ \t]{0,3}>[^\n]*+", re.MULTILINE)
"""Somebody else's words: who says "I" in them is not the speaker."""
_PASTED = re.compile(r":[ \t][^\n]*+")
"""Likewise what stands behind a name at the beginning of a line, as in a pasted chat."""
_AUXILIARY: Final = (
    r"(?:(?:(?<=\b[Ii])(?:m|ve)|(?:\s+|['\u2019])(?:has|have|had|is|are|was|were|been|be|got|who|which|that"
    r"|now|currently|also|both|just|recently|finally|still|then|already|since|later|soon|eventually|always"
    r"|mostly|really|mainly|first|all|himself|herself|itself|myself|apparently|m|ve|s|re))\b)*"
)
_BESIDE_VERB = re.compile(
    r"[\"'`*\u201d\u2019]?(?:\s\([^()\n]{1,60}\)"
    r"|,\s(?:an?|the|our|my|his|her|their|its|who|which|born|aged|now)\b[^,;]{1,80},)?" + _AUXILIARY + r"\s*"
)
_BEFORE_OBJECT = re.compile(
    r"(?:\s+(?!(?:and|but|or|that|because|with|by|from|for|to|who|which|when|while|if|not|no|than|as|where"
    r"|without|before|after|until|into|is|was|has|nobody|nothing|about|like|unlike|except|either|neither)\b)"
    r"[a-z][\w'-]*){0,4}\s*[\"'`*\u201c\u2018(]?"
)
_JUST_BEFORE_OBJECT = re.compile(
    r"(?:\s{1,4}(?:now|still|currently|called|named)){0,3}\s{0,4}[\"'`*\u201c\u2018(]?"
)
_OF = re.compile(r"\bof\b", re.IGNORECASE)
_OWN_NOUN = re.compile(r"\s{1,4}(?P<noun>[a-z][\w-]*)")
_ALTERNATIVE = re.compile(r"[\"'`*)\u201d\u2019]{0,4},?\s{1,4}or\b")
_GIVEN = re.compile(
    r"\s{1,4}(?:an?|some|two|three|his|her|my|our|their)\s{1,4}"
    r"(?!(?:few|couple|while|bit|long|minute|hour|day|week|fortnight|month|quarter|year|decade|time)s?\b)[a-z]"
)
"""Behind whom something is bought or made for: "bought Mia a bike"; not "bought Acme a year ago"."""
_CARRIED = re.compile(
    r"(?:.*\s|,\s*)(?:and|but|then)(?: then| now| later| also| has| is| was)*\s*", re.DOTALL
)
_PASSIVE = re.compile(r"\b(?:is|are|was|were|been|be|got)\b[^,()]*$", re.IGNORECASE)
_AT_A_PLACE = re.compile(
    r"\b(?:in|at|on|near|during|under|through|alongside|around|within|across|via)\b", re.IGNORECASE
)
_BOTH = re.compile(r",?\s(?:and|&)\s")
_BEGINS_CLAUSE = re.compile(
    rf"(?:^|[.,;:!?()\n\u2013\u2014-]\s{{0,4}}|\b(?:and|but|so|then|that|because|since|while|when|where|now|today"
    rf"|yesterday|both|also|later|finally|{NOUN_PATTERN})\s{{1,4}})[\"'`*\u201c\u2018(]?$",
    re.IGNORECASE,
)
"""Before the first of two subjects; in "I left Acme and I work at Imec" Acme is none."""
_CLAUSE_BEGINNING: Final = 40
"""Characters before a subject that `_BEGINS_CLAUSE` reads; its longest match is shorter."""
_CLOSED = re.compile(r"[\"'`*)\u201d\u2019]*\s*(?:[.,;:!]|$)")


@dataclass(frozen=True, slots=True)
class Relation:
    """`subject` and `obj` are the two names of one predicate."""

    predicate: str
    subject: Name
    obj: Name


def find_relations(text: str, names: Sequence[Name], speaker: Name | None) -> list[Relation]:
    """The relations of a text in its order.

    The pairs of one predicate always have one subject or one object in common, because the graph keeps sides
    and not pairs; a later pair that would make them ambiguous is left out.
    """
    found: list[Relation] = []
    usable = [name for name in names if name.kind not in _NO_SIDE and _DAY.match(name.name) is None]
    starts = [name.span[0] for name in usable]
    own = [] if speaker is None else _own_words(text, names, speaker)
    for start, end in islice(sentence_spans(text), SENTENCES):
        if ends_with_question_mark(text[start:end]):
            continue
        sides = usable[bisect_left(starts, start) : bisect_left(starts, end)]
        if speaker is not None:
            here = own[bisect_left(own, (start, start)) : bisect_left(own, (end, end))]
            sides = [*sides, *(Name(speaker.kind, speaker.name, speaker.surface, span) for span in here)]
        if len(sides) < len(("subject", "object")):
            continue
        sides.sort(key=lambda name: (name.span[0], -name.span[1]))
        for relation in _of_sentence(text, start, end, sides):
            if _is_clear(relation, found):
                found.append(relation)
    return found


def _own_words(text: str, names: Sequence[Name], speaker: Name) -> list[tuple[int, int]]:
    """Where the speaker says "I", "my" or "me", in order; not where somebody is quoted."""
    others = (name.span for name in names if name.name != speaker.name and not name.surface.isupper())
    pasted = (
        _PASTED.match(text, end) for start, end in others if text[max(0, start - 1) : start] in {"", "\n"}
    )
    quoted = sorted(match.span() for match in (*_QUOTED.finditer(text), *pasted) if match is not None)
    said = (match.span() for match in _WE.finditer(text))
    return [span for span in said if not _is_inside(span[0], quoted)]


def _is_inside(place: int, spans: Sequence[tuple[int, int]]) -> bool:
    before = bisect_left(spans, (place, place)) - 1
    return before >= 0 and place < spans[before][1]


def _of_sentence(text: str, start: int, end: int, sides: list[Name]) -> Iterator[Relation]:
    doubt = _UNSURE.search(text, start, end)
    verbs = sorted(
        (
            (match.start(), match.end(), rule)
            for rule in RULES
            for match in rule.verb.finditer(text, start, end)
        ),
        key=lambda verb: verb[:2],
    )
    found = [_behind(text, last, sides, end, rule) for _, last, rule in verbs]
    # "my sister works at Barco and I work at Imec": Barco does not
    taken = {
        name.span
        for names, (*_, rule) in zip(found, verbs, strict=True)
        if rule.behind is None and not rule.apposed
        for name in names
    }
    free = [name for name in sides if name.span not in taken]
    carried: list[Name] = []
    for (first, _, rule), objects in zip(verbs, found, strict=True):
        if doubt is not None and (doubt.start() < first or doubt.group().lower() == "if"):
            return
        subjects = _before(text, start, first, sides, carried, rule)
        if subjects and subjects is not carried:
            subjects = [*subjects, *_coordinated(text, start, subjects[0], free)]
        if subjects and objects:
            carried = subjects
        for subject in subjects:
            for obj in objects:
                if subject.name != obj.name:
                    pair = (obj, subject) if rule.reversed else (subject, obj)
                    yield Relation(rule.predicate, *pair)


def _before(
    text: str, start: int, verb: int, sides: list[Name], carried: list[Name], rule: Rule
) -> list[Name]:
    """The name that ends before the verb and belongs to it, or the names of the verb before."""
    nearest = sorted((name for name in sides if name.span[1] <= verb), key=lambda name: -name.span[1])
    for name in nearest[:_NAMES_BACK]:
        if rule.behind is not None and not rule.behind.search(text, start, name.span[0]):
            continue
        if _BESIDE_VERB.fullmatch(text, name.span[1], verb):
            if rule.active and _PASSIVE.search(text, name.span[1], verb):
                return []
            return [name]
    if carried and nearest and _CARRIED.fullmatch(text, carried[0].span[1], verb) and rule.behind is None:
        return carried
    return []


def _coordinated(text: str, start: int, name: Name, others: list[Name]) -> list[Name]:
    """Another subject before the nearest one: "Ada and Bob work"."""
    both = (other for other in others if _BOTH.fullmatch(text, other.span[1], name.span[0]))
    return [one for one in both if _begins_clause(text[start : one.span[0]])][:1]


def _begins_clause(before: str) -> bool:
    return not before.strip() or _BEGINS_CLAUSE.search(before[-_CLAUSE_BEGINNING:]) is not None


def _behind(text: str, verb: int, sides: list[Name], end: int, rule: Rule) -> list[Name]:
    """The first name behind the verb, and one that "and" joins to it at the end of the clause."""
    place = next((place for place, name in enumerate(sides) if name.span[0] >= verb), len(sides))
    if place == len(sides) or not _is_object(text, verb, sides[place], rule):
        return []
    first = sides[place]
    joined = (
        name
        for name in sides[place + 1 :]
        if _BOTH.fullmatch(text, first.span[1], name.span[0]) and _CLOSED.match(text, name.span[1], end)
    )
    return [first, *list(joined)[:1]]


def _is_object(text: str, verb: int, name: Name, rule: Rule) -> bool:
    """Whether the verb is said of a name behind it, and not of what belongs to it, or is about or for it."""
    start, end = name.span
    between = _JUST_BEFORE_OBJECT if rule.beside else _BEFORE_OBJECT
    if not between.fullmatch(text, verb, start) or _ALTERNATIVE.match(text, end):
        return False
    if rule.predicate not in THROUGH_PLACES and _AT_A_PLACE.search(text, verb, start):
        return False
    if rule.predicate in BETWEEN_PERSONS and _OF.search(text, verb, start):
        return False
    if rule.beside and NATIONALITY_ENDING.search(name.name):
        return False
    owned = _OWN_NOUN.match(text, end) if name.surface.endswith(("'s", "\u2019s")) else None
    if owned is not None and owned["noun"] not in FUNCTION_WORDS:
        return False
    return not (rule.active and _GIVEN.match(text, end))


def _is_clear(relation: Relation, found: list[Relation]) -> bool:
    pairs = {(known.subject.name, known.obj.name) for known in found if known.predicate == relation.predicate}
    pair = (relation.subject.name, relation.obj.name)
    subjects = {subject for subject, _ in pairs} | {pair[0]}
    objects = {obj for _, obj in pairs} | {pair[1]}
    return pair not in pairs and 1 in (len(subjects), len(objects)) and not subjects & objects
