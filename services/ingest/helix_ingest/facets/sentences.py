"""Cuts a text into sentences and leaves out those that state nothing about their author."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from helix_shared.naming.abbreviations import is_abbreviation

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
    r"|say i|if i (?:were|was|had|lived|worked))\b|\bas if i\b|\bin another life\b|\bjust kidding\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Sentence:
    """`text == source[start:end]`."""

    text: str
    start: int
    end: int


def statements(text: str) -> Iterator[Sentence]:
    """The sentences of a text that are neither questions, quotations nor hypothetical."""
    for sentence in _sentences(text[:READ_CHARACTERS]):
        said = sentence.text
        if len(said) > SENTENCE_CHARACTERS or _is_question(said):
            continue
        if not _QUOTED.search(said) and not _HYPOTHETICAL.search(said):
            yield sentence


def _is_question(text: str) -> bool:
    """Whether a sentence asks; "no??" in front of a statement is part of the statement."""
    return text.rstrip("\"')! ").endswith("?") and len(text.split()) > 1


def _sentences(text: str) -> Iterator[Sentence]:
    """All sentences; one of a single word is part of the one after it: "no. never again"."""
    start = 0
    for found in _END.finditer(text):
        if found[0] == "." and is_abbreviation(text, found.start()):
            continue
        if len(text[start : found.end()].split()) > 1:
            yield from _trimmed(text, start, found.end())
            start = found.end()
    yield from _trimmed(text, start, len(text))


def _trimmed(text: str, start: int, end: int) -> Iterator[Sentence]:
    said = text[start:end]
    start += len(said) - len(said.lstrip())
    end -= len(said) - len(said.rstrip())
    if start < end:
        yield Sentence(text[start:end], start, end)
