"""Whether a text states a value of the kind that a question asks for (`asked_value`)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from helix_query.recall.evidence.asked_value import AskedKind, AskedValue
from helix_shared.artifacts.lexicon.analysis import stems
from helix_shared.naming.abbreviations import sentence_ends
from helix_shared.naming.frequency import is_common
from helix_shared.naming.words import FUNCTION_WORDS

TEXT_CHARACTERS: Final = 2_000
"""Characters of a memory that are read."""

_NUMBER_WORD: Final = (
    "two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|"
    "eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand|million|dozen|"
    "half|once|twice|none|zero|both|single|double"
)
_MONTH: Final = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|"
    r"oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_DATES: Final = re.compile(
    r"\b\d{4}-\d\d(?:-\d\d)?\b|\b\d{1,2}[./]\d{1,2}[./]\d{2,4}\b|"
    rf"\b\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {_MONTH}\b(?: \d{{4}})?|\b{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?\b|"
    rf"\b{_MONTH} \d{{4}}\b|\b(?:in|since|until|by|of) (?:19|20)\d\d\b|\b\d{{1,2}}:\d\d(?: ?[ap]m)?\b|"
    r"\b\d{1,2} ?[ap]m\b|\bthe \d{1,2}(?:st|nd|rd|th)\b|\bat \d{1,2}\b",
    re.IGNORECASE,
)
_SPANS: Final = re.compile(
    rf"\b(?:\d+(?:\.\d+)?|{_NUMBER_WORD}|an?|few)[ -]?"
    r"(?:yrs?|years?|months?|weeks?|days?|hours?|hrs?|minutes?|mins?|seconds?|secs?|nights?)\b",
    re.IGNORECASE,
)
_NUMBERS: Final = re.compile(rf"\d+(?:[.,]\d+)*|\b(?:{_NUMBER_WORD})\b", re.IGNORECASE)
_ORDINALS: Final = re.compile(
    r"\b(?:\d+(?:st|nd|rd|th)|first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|top|ground|"
    r"middle)\b",
    re.IGNORECASE,
)
_AMOUNTS: Final = re.compile(
    r"[$\u20ac\u00a3\u00a5]|\b\d+(?:[.,]\d+)? ?k\b|\d[\d.,\u00a0 ]*\d|\b\d+ ?[a-z]{2,8}\b|\bfree\b|"
    r"\b(?:\w+ )?(?:hundred|thousand|million|grand|quid|bucks|pounds?|euros?|dollars?)\b",
    re.IGNORECASE,
)
_PHONES: Final = re.compile(r"(?:\+|\b)\d(?:[ ()./-]{0,2}\d){6,}")
_EMAILS: Final = re.compile(r"\S@\S{1,60}\.\w")
_VERSIONS: Final = re.compile(
    r"\b[vV]?\d+\.\d+|\bv\d+\b|\b(?:version|release) \w*\d|\b[A-Z][\w+-]* \d+\b(?! [a-z])"
)
_CLOCK: Final = re.compile(
    r"\b\d{1,2}(?:[:.h]\d\d| ?[ap]\.?m\b| o'clock)|"
    r"\b(?:at|by|from|until|till|before|after|around) \d{1,2}\b|"
    r"\b(?:half|quarter) (?:past|to) \w+|\bhalf \w+\b|\bnoon\b|\bmidnight\b",
    re.IGNORECASE,
)
_COLOURS: Final = re.compile(
    r"\b(?:black|white|gr[ae]y|red|blue|green|yellow|orange|purple|violet|pink|brown|beige|cream|ivory|navy|"
    r"turquoise|teal|silver|gold|maroon|burgundy|ochre|khaki|#[0-9a-f]{3,6})(?:ish)?\b",
    re.IGNORECASE,
)
_NAMES: Final = re.compile(
    r"(?<![\w'-])(?:[A-Z][\w&'-]+|[\w-]*\d[\w-]*)|(?<!\w)\w+[/._]\w[\w/._-]*"
    r"|[\"\u201c\u2018`][^\"\u201d\u2019`]{2,80}"
)
_LOWER_WORD: Final = re.compile(r"(?<![\w'-])[a-z\u00e0-\u024f]{3,}(?![\w-])")
_WORD_OR_MARK: Final = re.compile(r"[\w'-]+|[,:(]")
_MARKS: Final = frozenset([",", ":", "("])
_SPECIFY: Final = _MARKS | {"is", "was", "are", "were", "called"}
"""Between a noun and the word that says which one it is."""
_SENTENCE_END: Final = re.compile(r"\n\s*+|(?<![.!?;])[.!?;]++(?=\s|$)\s*+|\s[-\u2013\u2014]\s")
_KIN: Final = re.compile(
    r"\b(?:I|me|we|us)\b|\b(?:my|his|her|our|the|their) (?:\w+ )?(?:mum|mom|mother|dad|father|sister|brother|"
    r"wife|husband|son|daughter|uncle|aunt|cousin|boss|manager|neighbou?r|friend|partner|doctor|nurse|gran\w*|"
    r"landlord|team|kids?|girlfriend|boyfriend|teacher|lawyer|agent|plumber|vet)\b"
)
_CAPITAL_WORDS: Final = """
I I'm I'll I've I'd The A An This That These Those It It's He She We They You My Our His Her Their Your And
But So If When While Because Yes No Ok Okay Oh Well Thanks Thank Sure Not Just Also Then There Here What Who
Which Where Why How Is Are Was Were Do Does Did Have Has Had Can Could Will Would Should Let Let's Got Please
Right Sorry Maybe For In On At To From With By As Of Or Monday Mondays Tuesday Tuesdays Wednesday Wednesdays
Thursday Thursdays Friday Fridays Saturday Saturdays Sunday Sundays January February March April June July
August September October November December
"""
_NO_NAMES: Final = frozenset(_CAPITAL_WORDS.split())
"""Words with a capital that begin sentences or name days."""


def states_value(asked: AskedValue, text: str, *, speaker: str = "") -> bool:
    """Whether a sentence of `text` is about the thing and states a value of the kind asked for."""
    text = text[:TEXT_CHARACTERS].replace("\u2019", "'")
    for sentence in _sentences(text):
        if sentence and _STATES[asked.kind](asked, sentence, speaker) and _is_about(asked, sentence):
            return True
    return False


def _sentences(text: str) -> Iterator[str]:
    start = 0
    for found in sentence_ends(_SENTENCE_END.finditer(text)):
        yield text[start : found.start()]
        start = found.end()
    yield text[start:]


def _is_about(asked: AskedValue, sentence: str) -> bool:
    return not asked.about.isdisjoint(stems(sentence))


def _phone(asked: AskedValue, sentence: str, _: str) -> bool:
    return any(found.group() not in asked.words for found in _PHONES.finditer(sentence))


def _email(_: AskedValue, sentence: str, __: str) -> bool:
    return _EMAILS.search(sentence) is not None


def _version(_: AskedValue, sentence: str, __: str) -> bool:
    return _VERSIONS.search(sentence) is not None


def _money(asked: AskedValue, sentence: str, _: str) -> bool:
    rest = _SPANS.sub(" ", _DATES.sub(" ", sentence))
    return any(found.group().lower() not in asked.words for found in _AMOUNTS.finditer(rest))


def _number(asked: AskedValue, sentence: str, _: str) -> bool:
    rest = _DATES.sub(" ", sentence)
    if not asked.durations:
        rest = _SPANS.sub(" ", rest)
    if any(found.group().lower() not in asked.words for found in _NUMBERS.finditer(rest)):
        return True
    return _ORDINALS.search(sentence) is not None


def _time(_: AskedValue, sentence: str, __: str) -> bool:
    return _CLOCK.search(sentence) is not None


def _colour(asked: AskedValue, sentence: str, _: str) -> bool:
    return any(found.group().lower() not in asked.words for found in _COLOURS.finditer(sentence))


def _name(asked: AskedValue, sentence: str, _: str) -> bool:
    if any(True for name in _new_names(asked, sentence)):
        return True
    return "which" in asked.words and _is_specified(asked, sentence)


def _is_specified(asked: AskedValue, sentence: str) -> bool:
    """Whether a word beside the noun says which: "the quartz worktop", "the worktop, quartz"."""
    said = _WORD_OR_MARK.findall(sentence.lower())
    for at, word in enumerate(said):
        if word in _MARKS or asked.about.isdisjoint(stems(word)):
            continue
        behind = said[at + 2 : at + 3] if said[at + 1 : at + 2] and said[at + 1] in _SPECIFY else []
        if any(
            one not in FUNCTION_WORDS and one not in _MARKS and one not in asked.words
            for one in (*said[max(0, at - 1) : at], *behind)
        ):
            return True
    return False


def _person(asked: AskedValue, sentence: str, speaker: str) -> bool:
    told = speaker.lower() not in asked.words and _KIN.search(sentence) is not None
    return told or any(True for name in _new_names(asked, sentence))


def _new_names(asked: AskedValue, sentence: str) -> Iterator[str]:
    for found in _NAMES.finditer(sentence):
        name = found.group()
        if name not in _NO_NAMES and name.lower().removesuffix("'s") not in asked.words:
            yield name
    if sentence.islower():
        # who writes no capitals writes names without them, too
        for word in _LOWER_WORD.findall(sentence):
            if not is_common(word) and word not in asked.words and word.capitalize() not in _NO_NAMES:
                yield word


_STATES: Final[dict[AskedKind, Callable[[AskedValue, str, str], bool]]] = {
    AskedKind.PHONE: _phone,
    AskedKind.EMAIL: _email,
    AskedKind.VERSION: _version,
    AskedKind.MONEY: _money,
    AskedKind.NUMBER: _number,
    AskedKind.TIME: _time,
    AskedKind.COLOUR: _colour,
    AskedKind.NAME: _name,
    AskedKind.PERSON: _person,
}
