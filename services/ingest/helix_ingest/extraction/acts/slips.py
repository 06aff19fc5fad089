"""Corrections of what was said just before, by its value alone: "make that 7:30", "sorry, Tuesday"."""

from __future__ import annotations

import re
from typing import Final

from helix_ingest.extraction.acts.sentences import words

_SLIP: Final = re.compile(
    r"^\W*(?:(?:sorry|oops|wait|no+|actually|oh)\b\W*){0,3}(?:make (?:that|it)|sorry\W+|oops\W+)"
    r" *(?:(?:at|on|in|for|the) ){0,2}(?:[$\u20ac\u00a3]?\d|(?:mon|tues|wednes|thurs|fri|satur|sun)day\b"
    r"|(?:january|february|march|april|may|june|july|august|september|october|november|december)\b)",
    re.IGNORECASE,
)
_MADE: Final = re.compile(r"\bmake (?:that|it)\b", re.IGNORECASE)
_VALUE_ALONE: Final = re.compile(
    r"\b(?:sorry|oops)\W+(?:(?:at|on|in|for|the) ){0,2}[$\u20ac\u00a3]?[\w.:]+"
    r"(?: (?:euros?|pounds?|dollars?|quid|percent|am|pm|mg|kg|km|people))?"
    r"(?=\W*$|\W*,|,? (?:not|instead|then|please|from|of)\b)",
    re.IGNORECASE,
)
""" "Sorry, Tuesday", but not "sorry 2 minutes late": that is about something else."""
_MOST_WORDS: Final = 8
"""A longer correction says what it is about."""


def corrects_before(text: str) -> bool:
    """Whether a text corrects a value of what was said before it."""
    return _SLIP.match(text) is not None


def needs_what_it_corrects(text: str) -> bool:
    """Whether a text is a correction that cannot be understood without what it corrects."""
    if not corrects_before(text) or len(words(text)) > _MOST_WORDS:
        return False
    return bool(_MADE.search(text) or _VALUE_ALONE.search(text))
