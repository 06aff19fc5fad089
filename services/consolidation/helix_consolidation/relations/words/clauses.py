"""Splits a text into clauses, for rules that must not mix words of different clauses."""

from __future__ import annotations

import re
from typing import Final

_MARKS: Final = r"[.,:](?!\d)|[;!?()\n\u2013\u2014]|\s-\s"
_CONJUNCTIONS: Final = "so|but|because|since|while"
_CLAUSE: Final = re.compile(rf"{_MARKS}|\b(?:{_CONJUNCTIONS})\b")
_SMALL: Final = re.compile(
    rf"{_MARKS}|\b(?:{_CONJUNCTIONS}|and|although|though|when|until)\b|\bafter (?!all\b)"
)


def clauses(text: str) -> list[str]:
    """The clauses of a text in lower case. "Mondays and Thursdays" and "until May" stay with theirs."""
    return _CLAUSE.split(text)


def small_clauses(text: str) -> list[str]:
    """The same, split at "and" and at times ("until May") too."""
    return _SMALL.split(text)
