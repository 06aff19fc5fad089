"""Sentences of a memory's text, in which relations are looked for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from helix_shared.naming.abbreviations import sentence_ends

SENTENCE_CHARACTERS: Final = 400
"""Characters of a sentence that are read."""

_END: Final = re.compile(r"(?<![.!?])[.!?]++(?:\n+|(?=\s|$))|\n+")


def sentence_spans(text: str) -> Iterator[tuple[int, int]]:
    """First and last character of every sentence, cut to `SENTENCE_CHARACTERS`."""
    start = 0
    for found in sentence_ends(_END.finditer(text)):
        yield start, min(found.end(), start + SENTENCE_CHARACTERS)
        start = found.end()
    if start < len(text):
        yield start, min(len(text), start + SENTENCE_CHARACTERS)
