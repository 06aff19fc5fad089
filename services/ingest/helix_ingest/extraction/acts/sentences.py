"""Sentences of a turn, and which of them are questions, also without a question mark.

People write in lower case and leave marks out ("which crate", "what's the limit"), so the form decides: a
question word or a verb before its subject. Only the first `MOST_SENTENCES` of `MOST_CHARACTERS` are read.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from helix_shared.naming.abbreviations import sentence_ends
from helix_shared.text.scripts import (
    FULL_STOPS,
    HAN,
    HANGUL,
    KANA,
    QUESTION_MARKS,
    ends_with_question_mark,
)

MOST_CHARACTERS: Final = 2_000
MOST_SENTENCES: Final = 40
_READ_CHARACTERS: Final = 400
"""Characters of a sentence that are read for its form."""

_BREAK: Final = re.compile(rf"(?<=[.!\u2026{QUESTION_MARKS}])[\"')\]]*\s+|(?<=[{FULL_STOPS}])|\n+")
_WORD: Final = re.compile(r"[^\W_](?:[\w'\u2019-]*\w)?")

_LEAD: Final = re.compile(
    r"^\W*+(?:(?:ok(?:ay)?|so|and|but|hey|hi|hello|also|btw|oh|ah|well|then|alright|right|great|thanks?|cool"
    r"|h+m+|um+|uh|wait|sorry|by the way|anyway|now|just|guys|folks|quick question|question|yes|no|yeah|nope"
    r"|one more (?:thing|question)|before i forget|remind me|tell me|again)\b\W*+)*",
    re.IGNORECASE,
)
_VOCATIVE: Final = re.compile(r"^\w{2,20}, ?")
_AUXILIARY: Final = (
    r"(?:is|are|r|was|were|am|do|does|did|can|could|will|would|should|shall|has|have|had|may|might|must|isn'?t"
    r"|aren'?t|wasn'?t|weren'?t|don'?t|doesn'?t|didn'?t|can'?t|couldn'?t|won'?t|wouldn'?t|shouldn'?t|hasn'?t"
    r"|haven'?t)"
)
_SUBJECT: Final = (
    r"(?:i|we|you|u|he|she|they|it|this|that|there|these|those|any\w*|some(?:one|body)|every\w+"
    r"|no(?:body|one))"
)
_OBJECT: Final = r"(?:the|a|an|my|your|our|his|her|their|its)"
_NOT_ASKED: Final = re.compile(
    r"what (?:an? |i\b|we\b|you\b|he\b|she\b|they\b|it\b)|what the (?:hell|heck|fuck)"
    r"|which (?:is|was|means|meant|makes|made|would|i|we|he|she|they)\b"
    r"|don['\u2019]?t you dare|who (?:knows|knew|cares)\b|why (?:i|we|he|she|they)\b|how to [^:]*:",
    re.IGNORECASE,
)
_ASKED: Final = re.compile(
    r"(?:(?:what|which|who|whom|whose|why)(?:\W?s|\W?re|\W?ll|\W?d)?\b"
    rf"|(?:when|where)(?:\W?s\b| {_AUXILIARY}\b|(?: \w+)?\W*$)"
    r"|how(?:\W?s\b|\W*$| (?:many|much|long|often|far|old|big|large|small|tall|high|wide|late|early|soon"
    rf"|fast|heavy|deep|come|about|to|{_AUXILIARY})\b)"
    rf"|{_AUXILIARY} {_SUBJECT}\b(?! (?:yesterday|today|again|myself|now|already|all|in|on|at|last|for|by)\b)"
    r"(?=.*\w \w|.*\w{3})"
    rf"|(?:is|are|was|were|does|can|could|will|would|should|shall|has) {_OBJECT}\b"
    r"|do(?:es)? (?!not\b|work\b|nothing\b|it\b|the\b|a\b|my\b|your\b)\w+ (?:know|have|need|want|like"
    r"|still|work|use)\b"
    r"|any (?:idea|news|chance|update|thought|luck|word|suggestion|objection)s?\b"
    r"|any(?:one|body) (?:know|free|have|want|seen|got|else|up|for)\b"
    r"|(?:i )?(?:was |am |'m )?(?:wonder(?:ing)?|curious) (?:if|whether|what|when|where|who|which|how|why)\b"
    r"|(?:wanna|r u|u (?:there|ok|coming|up))\b)",
    re.IGNORECASE,
)
_UNSPACED_ASKED: Final = re.compile(
    # question particles at the end, and question words: Chinese, Japanese, Korean
    r"(?:[\u5417\u5462\u55ce]|[\u3067\u307e]\u3059\u304b|[\u306e\u304b])\W*$"
    r"|\u4ec0\u4e48|\u4ec0\u9ebc|\u54ea|\u8c01|\u8ab0|\u600e\u4e48|\u600e\u9ebc|\u51e0\u70b9|\u5e7e\u9ede"
    r"|\u591a\u5c11|\u4e3a\u4ec0|\u3044\u3064|\u3069\u3053|\u3060\u308c|\u306a\u306b|\u306a\u305c"
    r"|\u3069\u3046"
    r"|\uc5b8\uc81c|\uc5b4\ub514|\ub204\uad6c|\ubb34\uc5c7|(?:\uae4c|\ub098\uc694|\uac00\uc694)\W*$"
)
_UNSPACED: Final = re.compile(f"[{HAN}{KANA}{HANGUL}]")
_LONGEST_UNSPACED_QUESTION: Final = 30
_ENDS_YES_OR_NO: Final = re.compile(
    r"\b(?:ok(?:ay)?|right|yes|no|correct|then|too|as well|still|again|already|really|agreed|deal)\W*$"
    r"|(?:n't|n\u2019t) (?:it|you|he|she|they|we|i)\W*$",
    re.IGNORECASE,
)
_OPEN: Final = re.compile(
    r"(?:what|which|who|whom|whose|why|when|where|how)(?:\W?s|\W?re|\W?ll|\W?d)?\b", re.IGNORECASE
)


class Sentence(NamedTuple):
    """A sentence and where it begins in its text."""

    text: str
    start: int


def sentences(text: str) -> list[Sentence]:
    """The first sentences of a text, without outer white space; an empty one is left out."""
    read = text[:MOST_CHARACTERS]
    found, start = list[Sentence](), 0
    for mark in sentence_ends(_BREAK.finditer(read)):
        _add(found, read[start : mark.start() + _marks(mark[0])], start)
        start = mark.end()
        if len(found) >= MOST_SENTENCES:
            return found
    _add(found, read[start:], start)
    return found


def words(sentence: str) -> list[str]:
    """Words of a sentence, lower case."""
    return [word.lower() for word in _WORD.findall(sentence)]


def without_lead(sentence: str) -> str:
    """A sentence without words that open a turn ("ok so", "hey ann,")."""
    rest = _LEAD.sub("", sentence[:_READ_CHARACTERS], count=1)
    return _VOCATIVE.sub("", rest, count=1) if _VOCATIVE.match(rest) else rest


def is_question(sentence: str) -> bool:
    """Whether a sentence asks: by its mark, its question word, or its verb before the subject."""
    if ends_with_question_mark(sentence):
        return True
    if _UNSPACED.search(sentence[:_READ_CHARACTERS]):
        return len(sentence) <= _LONGEST_UNSPACED_QUESTION and bool(_UNSPACED_ASKED.search(sentence))
    if sentence.rstrip().endswith((".", "!", ":", ";")) and not sentence.rstrip().endswith("..."):
        # who writes marks would have written a question mark
        return False
    rest = without_lead(sentence)
    return not _NOT_ASKED.match(rest) and bool(_ASKED.match(rest))


def asks_yes_or_no(question: str) -> bool:
    """Whether yes or no can answer a question."""
    rest = without_lead(question)
    if _OPEN.match(rest):
        return bool(_ENDS_YES_OR_NO.search(rest)) and not rest.lower().startswith("which")
    return True


def _marks(separator: str) -> int:
    """Closing quotes and brackets before the white space of a separator belong to the sentence."""
    return len(separator) - len(separator.lstrip("\"')]"))


def _add(found: list[Sentence], raw: str, start: int) -> None:
    stripped = raw.strip()
    if stripped:
        found.append(Sentence(stripped, start + len(raw) - len(raw.lstrip())))
