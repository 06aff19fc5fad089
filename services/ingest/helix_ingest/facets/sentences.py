"""Cuts a text into sentences and leaves out those that state nothing about their author."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from helix_shared.naming.abbreviations import sentence_ends

READ_CHARACTERS: Final = 4_000
"""Characters of a text that are read; a profile line further down is rare."""
SENTENCE_CHARACTERS: Final = 400
"""A longer sentence is a paste or a list, not a statement about its author."""

_END: Final = re.compile(r"(?<![.!?;])[.!?;]++(?=[\s\"')]|$)|\n+")
_QUOTED: Final = re.compile(
    r"^\s*[\"\u201c\u2018>]|\b(?:said|says|told me|wrote|asked|replied)\b[^.]{0,20}[:\"\u201c]",
    re.IGNORECASE,
)
_HYPOTHETICAL: Final = re.compile(
    r"^\W*(?:(?:and|but|so|or|oh|well|ok(?:ay)?),? )?(?:imagine|suppose|supposing|assume|pretend|what if"
    r"|let's say"
    r"|say i|if i (?:were|was|had|lived|worked))\b|\bas if i\b|\bin another life\b|\bjust kidding\b"
    r"|(?:[,(\u2013\u2014-] ?|\bi(?:['\u2019]m|m| am) (?:just |only )?|\bonly )(?:kidding|joking|joke)\W*$"
    r"|\b(?:jk|j/k)\W*$",
    re.IGNORECASE,
)
_JOKED: Final = re.compile(
    r"^\W*(?:(?:lol|haha|hehe|nah|sorry|ok(?:ay)?|well|but|actually)\b\W{0,5}){0,3}"
    r"(?:(?:(?:i(?:['\u2019]m|m| am| was)|we(?:['\u2019]re| are| were)) )?"
    r"(?:(?:just|only|totally|obviously) )?(?:kidding|joking)"
    r"|(?:(?:that|it|this)(?:['\u2019]s| is| was) )?(?:(?:just|only|all) )?(?:a )?joke|jk|j/k)"
    r"(?=\W*$|[,.!;:)\u2026]| (?:of course|obviously|lol|haha|about that)\b)",
    re.IGNORECASE,
)
"""A sentence that takes back what was said before it."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """`text == source[start:end]`."""

    text: str
    start: int
    end: int


def stating_sentences(text: str) -> Iterator[Sentence]:
    """The sentences of a text that are neither questions, quotations, hypothetical nor taken back as a joke.

    "Just kidding" takes back the sentence before it, and those before that one in its paragraph.
    """
    taken_back = False
    kept: list[Sentence] = []
    found = list(_sentences(text[:READ_CHARACTERS]))
    for sentence, following in zip(reversed(found), [None, *reversed(found)], strict=False):
        said = sentence.text
        if following is not None and "\n" in text[sentence.end : following.start]:
            taken_back = False
        taken_back = taken_back or (following is not None and _JOKED.match(following.text) is not None)
        if taken_back or _JOKED.match(said):
            continue
        if len(said) > SENTENCE_CHARACTERS or _is_question(said):
            continue
        if not _QUOTED.search(said) and not _HYPOTHETICAL.search(said):
            kept.append(sentence)
    yield from reversed(kept)


def _is_question(text: str) -> bool:
    """Whether a sentence asks; "no??" in front of a statement is part of the statement."""
    return text.rstrip("\"')! ").endswith("?") and len(text.split()) > 1


def _sentences(text: str) -> Iterator[Sentence]:
    """All sentences; one of a single word is part of the one after it: "no. never again"."""
    start = 0
    for found in sentence_ends(_END.finditer(text)):
        said = text[start : found.end()]
        if len(said.split()) > 1 or _JOKED.match(said):
            yield from _trimmed(text, start, found.end())
            start = found.end()
    yield from _trimmed(text, start, len(text))


def _trimmed(text: str, start: int, end: int) -> Iterator[Sentence]:
    said = text[start:end]
    start += len(said) - len(said.lstrip())
    end -= len(said) - len(said.rstrip())
    if start < end:
        yield Sentence(text[start:end], start, end)
