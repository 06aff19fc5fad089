"""Intent `multi_hop`: a question about something that it describes instead of naming.

A logistic model over signs in the words. For: full names, clauses and participles that describe a thing,
words for relations and public things, two names compared. Against: the first person, and a first name
with an everyday verb, since that is about people the caller knows. The weights are those of a logistic
regression over the development questions, rounded; each is added to the log odds. `rules` also accepts
relations of relations, by pattern.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

MIN_LOG_ODDS: Final = 0.0
"""Log odds above which a question needs several hops. The bias is shifted so that chat rarely does."""

_CAPITAL = r"[A-Z\u00c0-\u00de\u0100-\u017f\u1e00-\u1eff]"
_CAP_WORD = rf"{_CAPITAL}[\w.'&-]{{0,40}}"
_LINK = "of|the|de|del|la|von|van|der|den|in|for|to|on|&|bin|al|du|di|da|des|mac"
_NAME: Final = re.compile(
    rf"(?<![\w']){_CAP_WORD}(?:,? (?:(?:{_LINK}) ){{0,2}}(?:{_CAP_WORD}|\d[\w/.\u2013-]{{0,10}})){{0,8}}"
)
_FIRST_PERSON: Final = frozenset(["I", "I'm", "I've", "I'd", "I'll"])

ASKING: Final = re.compile(
    r"(?:who(?:m|se)?|what|when|where|which|why|how|is|are|was|were|do|does|did|has|have|had|can|could|will|"
    r"would|should)(?:'s)?\b",
    re.IGNORECASE,
)
KIN: Final = (
    "father|mother|parent|son|daughter|child|brother|sister|sibling|spouse|wife|husband|grandfather|"
    "grandmother|"
    "grandson|granddaughter|uncle|aunt|nephew|niece|cousin|"
    "(?:father|mother|brother|sister|son|daughter|child)-in-law|step(?:mother|father|son|daughter)|namesake|"
    "successor|predecessor"
)
_PUBLIC_WORDS = """
father mother parent son daughter child brother sister sibling spouse wife husband grandfather
grandmother uncle aunt nephew niece cousin namesake successor predecessor director author writer
composer performer singer songwriter producer founder owner creator editor actor actress star musician
rapper band group album film movie novel series soundtrack sitcom opera song single magazine newspaper
journal station network label studio character cast football footballer club league season team
championship tournament stadium arena coach player university college school campus museum company
corporation manufacturer subsidiary organization airport railway highway river lake island canal
mountain city town village county state province district country continent region territory capital
population headquarters headquartered birthplace nationality citizenship born died death birth king
queen emperor prince princess duke earl president minister governor senator politician party government
war battle army treaty empire dynasty century award prize medal genus species plant breed genre religion
church cathedral architect philosopher physicist economist historian poet painter pitcher quarterback
inductee episode premiered anthem currency flag mascot directed starred portrayed composed founded
published written starring
"""
_PUBLIC: Final = frozenset(_PUBLIC_WORDS.split())


@dataclass(frozen=True, slots=True)
class Sign:
    """A pattern, what a match adds to the log odds, and the number of matches that count."""

    weight: float
    limit: int
    pattern: re.Pattern[str]


_SIGNS: Final[dict[str, Sign]] = {
    "first person": Sign(-3.2, 1, re.compile(r"\b(?:I|I'm|I've|I'd|[Mm]y|me|[Ww]e|our|us|[Yy]ou|your)\b")),
    "clause": Sign(1.9, 3, re.compile(
        r"(?<=\w )(?!know|say|said|think|feel|sure|told|me |is |was |about )[\w'.\")]+,? "
        r"(?:that|who|which|whose|where|whom|(?:in|of|on|for|by|to|at|from|after|with) (?:which|whom|whose|"
        r"what))\b "
        r"(?!did\b|do\b|does\b)", re.IGNORECASE)),
    "participle": Sign(1.1, 3, re.compile(
        r"\b(?:located|based|formed|born|written|directed|produced|starring|starred|known|created|founded|"
        r"released|"
        r"held|named|published|hosted|owned|set|composed|performed|featuring|featured|built|presented|led|"
        r"sung|"
        r"recorded|designed|developed|situated|containing|manufactured|inspiring|serving|fought|introduced|"
        r"established|considered|represented|broadcast|aired|portrayed|nominated|awarded|credited|licensed) "
        r"(?:in|by|on|for|as|to|at|near|from|with|after)\b")),
    "kin of": Sign(0.4, 1, re.compile(rf"[\w)]'s? (?:[\w-]+ )?(?:{KIN})\b", re.IGNORECASE)),
    "year": Sign(-1.6, 1, re.compile(r"\b(?:1\d{3}|20\d\d)s?\b")),
    "talk": Sign(-1.5, 2, re.compile(
        r"\b(?:sa(?:y|id|ys)|tells?|told|feels?|felt|thinks?|thought|mention(?:ed)?|shared?|shares|enjoys?|"
        r"likes?|loves?|"
        r"plan(?:s|ned|ning)?|recommend\w*|suggest\w*|describes?|excited|hobb\w+|friends?|dreams?|family|"
        r"kids|motivat\w+|"
        r"inspir\w+|according|opinion|advice|photo|currently|recently|gifts?|pets?|volunteer\w*)\b",
        re.IGNORECASE)),
    "first name acts": Sign(-2.8, 1, re.compile(
        r"\b(?:did|does|do|is|was|has|have|had|would|will|might|can|could|are|were) [A-Z][a-z]+(?:'s)? "
        r"(?:and [A-Z][a-z]+ )?[a-z]")),
    "people": Sign(0.8, 1, re.compile(
        r"\b[A-Z][a-z]+(?:ican|ian|ish|ese|ean|ench|erman|alian|reek|utch)\b")),
    "the name": Sign(0.5, 2, re.compile(r"\b[Tt]he [A-Z0-9]")),
    "chain": Sign(0.7, 1, re.compile(
        r"\b(?:of|by|from|in|for) (?:the |an? )?(?:\w+ )?\w+ (?:of|by|in|from|at|where|that|which|who) ")),
    "foreign letter": Sign(0.6, 1, re.compile(r"[\u00c0-\u024f\u1e00-\u1eff]")),
    "either": Sign(1.6, 1, re.compile(r"[A-Z0-9\"][\w.')\"!\u2013-]{0,60},? or (?:the |an? )?\"?[A-Z0-9]")),
    "two names": Sign(1.0, 1, re.compile(
        r"[A-Z0-9\"][\w.')\"!-]{0,60},? and (?:the |an? |\w+ )?\"?[A-Z0-9]")),
    "compares": Sign(0.9, 1, re.compile(
        r"\b(?:first|last|later|earlier|older|younger|longer|(?:more|most|less|[a-z]{3,}er) )\b",
        re.IGNORECASE)),
}  # fmt: skip
_SHARED: Final = re.compile(r"\b(?:both|same|in common|shared?|between|either|out of)\b", re.IGNORECASE)
_EMBEDDED: Final = re.compile(
    r"(?<=\w) (?:which|what|who|whom|whose|how many|how far|when|where)\b", re.IGNORECASE
)
_WORDS: Final = re.compile(r"[a-z]+")

_BIAS: Final = -4.7
"""Half a unit above the fitted value: a missed question costs more than a false one."""
_NO_CAPITALS: Final = -2.8
"""As for a first name that acts: any word may be one ("when did caroline go to the support group")."""
_QUESTION_FORM: Final = 3.5
"""It begins with a word that asks, or ends with a question mark."""
_EMBEDDED_QUESTION: Final = 1.4
"""It begins otherwise, and a word that asks follows."""
_FULL_NAME: Final = 1.5
"""Each name of several words, up to `_MAX_NAMES`."""
_ONE_WORD_NAME: Final = -0.3
"""Each name of one word, up to `_MAX_NAMES`."""
_MAX_NAMES: Final = 3
_PUBLIC_WORD: Final = 2.0
"""Each word for a relation or a public thing, up to `_MAX_PUBLIC`."""
_MAX_PUBLIC: Final = 4
_PER_WORD: Final = -0.05
"""Each word of the question, up to `_MAX_WORDS`."""
_MAX_WORDS: Final = 40
_COMPARED_PAIR: Final = 1.2
"""Two things joined by "or", and a word that compares."""
_SHARED_PAIR: Final = 2.0
"""Two things joined by "or" or "and", and a word for what both have."""


def log_odds(question: str) -> float:
    """Log odds that a question (single spaces, straight apostrophes) needs several hops."""
    opening = ASKING.match(question)
    counts = {name: _count(sign, question) for name, sign in _SIGNS.items()}
    score = _BIAS + sum(sign.weight * counts[name] for name, sign in _SIGNS.items())
    score += _NO_CAPITALS * question.islower()
    score += _QUESTION_FORM * (opening is not None or question.rstrip().endswith("?"))
    score += _EMBEDDED_QUESTION * (opening is None and _EMBEDDED.search(question) is not None)
    score += _names(question[opening.end() :] if opening else question)
    public = len(_PUBLIC.intersection(_singular(word) for word in _WORDS.findall(question.lower())))
    score += _PUBLIC_WORD * min(public, _MAX_PUBLIC)
    score += _PER_WORD * min(question.count(" ") + 1, _MAX_WORDS)
    score += _COMPARED_PAIR * (counts["either"] and counts["compares"])
    paired = counts["either"] or counts["two names"]
    return score + _SHARED_PAIR * (paired and _SHARED.search(question) is not None)


def _count(sign: Sign, question: str) -> int:
    if sign.limit == 1:
        return int(sign.pattern.search(question) is not None)
    return min(sum(1 for _ in sign.pattern.finditer(question)), sign.limit)


def _names(body: str) -> float:
    names = [name for name in _NAME.findall(body) if name not in _FIRST_PERSON]
    full = sum(" " in name for name in names)
    return _FULL_NAME * min(full, _MAX_NAMES) + _ONE_WORD_NAME * min(len(names) - full, _MAX_NAMES)


def _singular(word: str) -> str:
    return word if word in _PUBLIC else word.removesuffix("s")
