"""Persons who are succeeded by others: "Dr Osei is retiring, from April it's Dr Nkemelu".

An earlier statement that gives a role to the predecessor ("the GP is Dr Osei", "Tomasz owns billing") and
does not name the successor is likely replaced. It is not closed: it may say more, and a person may have two
roles.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from helix_consolidation.relations.rules import are_unreplaceable
from helix_consolidation.relations.words.reading import READ_CHARACTERS, stem, words_of
from helix_shared.naming.frequency import is_common
from helix_shared.naming.words import CALENDAR, FUNCTION_WORDS

if TYPE_CHECKING:
    from helix_consolidation.relations.pair import Pair

NAMES_SUCCESSOR: Final = "names_successor"
"""Evidence: the new statement names the successor of a person to whom the older one gives a role."""
MIN_SUCCESSOR_PROBABILITY: Final = 0.6
"""Least probability of that link."""
_CACHED: Final = 1_024
_TITLES: Final = frozenset([
    "dr", "mr", "mrs", "ms", "miss", "prof", "professor", "doctor", "sr", "sra", "herr", "frau",
])  # fmt: skip
_NAME: Final = rf"(?:(?:{'|'.join(sorted(_TITLES))})\.? )?[^\W\d_][\w'-]{{1,29}}"
_GOES: Final = re.compile(
    rf"(?:^|[.!?,;\n] *|\b(?:so|and|but|as|because|since|now|that|ok|hey) )(?P<left>{_NAME})"
    r" (?:(?:is|has|'s|was) )?(?:(?:now|just|sadly|unfortunately) )?"
    r"(?:retiring|retired|retires|leaving|left|leaves|quit|quits|quitting|resigned|resigning|stepping down"
    r"|stepped down|steps down|cancell?ed|sick|ill|on leave|off sick|gone|moving away|moved away|dropped out"
    r"|fired|out (?:sick|on leave)|(?:out|off|away) (?:till|until|for \w+ (?:days|weeks|months))|swamped"
    r"|on holiday|in hospital|(?:hurt|broke|injured) (?:his|her|their) \w+)"
    r"(?! (?:me|us|him|her|them|it|an?|some|his|my|your|early|late|for)\b)\b(?P<rest>[^\n]{0,160})",
    re.IGNORECASE,
)
_COMES: Final = re.compile(
    r"\b(?:it'?s|it is|it will be|new (?:\w+ ){1,3}?(?:is|will be)|replaced by|successor is|ask|contact|call)"
    r" (?:now )?(?:(?:a|the) (?:new )?(?:(?:guy|woman|man|girl|lady|one|person) )?(?:(?:called|named) )?)?"
    rf"(?P<first>{_NAME})"
    rf"|\binstead(?: of (?:him|her|them))?,? (?:it'?s )?(?P<second>{_NAME})"
    rf"|(?P<third>{_NAME}) (?:(?:is|will be|will) )?(?:takes?|taking|took|does|doing|do|covers?|covering"
    r"|runs?|drives?|reviews?|handles?|leads?|manages?"
    r"|(?:steps?|stepping|stands?|fills?) in|replaces?)\b",
    re.IGNORECASE,
)
_TAKES_FROM: Final = re.compile(
    rf"(?P<taken>{_NAME}) (?:(?:is|will|will be|has) )?(?:takes|took|taking|taken|take) over"
    rf" (?:[\w'-]+ ){{0,4}}?from (?P<left>{_NAME})",
    re.IGNORECASE,
)
_REPLACES: Final = re.compile(
    rf"(?P<taken>{_NAME}) (?:replaces|replaced|is replacing|(?:stands|fills|steps) in for|covers for"
    rf"|is covering for) (?P<left>{_NAME})",
    re.IGNORECASE,
)
_ROLE_VERBS: Final = frozenset([
    "is", "does", "owns", "runs", "handles", "has", "takes", "leads", "looks", "manages", "reviews", "keeps",
    "drives", "covers", "gives", "helps", "decides", "coaches", "teaches", "brings", "cooks", "plays", "will",
])  # fmt: skip
"""Words after the name of a person who has a role."""
_BEFORE: Final = frozenset(["is", "are", "by", "with", "ask", "contact", "call", "via"])
_BARE: Final = 4
"""Words of a text that is little more than a name, the answer to "who"."""


class Handover(NamedTuple):
    """The last word of the name of each person."""

    predecessor: str
    successor: str


def names_successor(pair: Pair) -> bool:
    """Whether `new` names the successor of a person to whom `old` gives a role.

    Of several roles ("Tomasz owns billing, Priya owns auth") a word has to tell which one is meant.
    """
    new, new_reading, old, old_reading = pair
    if new_reading.asks or new_reading.hypothetical or new_reading.tentative or old_reading.asks:
        return False
    if are_unreplaceable(new, old):
        return False
    change = handover(new.text)
    if change is None:
        return False
    words = words_of(old.text[:READ_CHARACTERS])
    if change.successor in words or not _has_role(words, change.predecessor):
        return False
    several = sum(word in _ROLE_VERBS for word in words) > 1
    return not several or bool((new_reading.words & old_reading.words) - {stem(change.predecessor)})


@functools.lru_cache(_CACHED)
def handover(text: str) -> Handover | None:
    """Predecessor and successor; None for most texts."""
    read = text[:READ_CHARACTERS].replace("\u2019", "'")
    for pattern in (_TAKES_FROM, _REPLACES):
        for found in pattern.finditer(read):
            if change := _handover(found["left"], found["taken"]):
                return change
    for found in _GOES.finditer(read):
        for comes in _COMES.finditer(found["rest"]):
            if change := _handover(found["left"], comes["first"] or comes["second"] or comes["third"]):
                return change
    return None


def _handover(left: str, taken: str) -> Handover | None:
    """A handover between two words that may be names of persons."""
    change = Handover(words_of(left)[-1], words_of(taken)[-1])
    return change if change.predecessor != change.successor and _may_name(left) and _may_name(taken) else None


def _may_name(written: str) -> bool:
    """Whether a word, as written, may be a name: no everyday word in lower case without a title is one."""
    *title, word = written.split()
    if word.lower() in FUNCTION_WORDS or word.lower() in CALENDAR:
        return False
    return bool(title) or word[0].isupper() or not is_common(word.lower())


def _has_role(words: list[str], name: str) -> bool:
    """Whether the words give the named person a role, or are little more than the name."""
    for at, word in enumerate(words):
        if word == name:
            behind = words[at + 1] if at + 1 < len(words) else ""
            before = next((one for one in reversed(words[:at]) if one not in _TITLES), "")
            if behind in _ROLE_VERBS or before in _BEFORE or len(words) <= _BARE:
                return True
    return False
