"""The values that a text writes down: by them, texts of nearly the same wording say different things."""

from __future__ import annotations

import re
from typing import Final

_NUMBER: Final = re.compile(r"\d+(?:[.,:/-]\d+)*")
_NEGATION: Final = re.compile(
    r"\b(?:not|no|never|nothing|neither|nor|without|cannot|cant|dont|wont|no longer|stopped|quit)\b|n't\b"
)
DENIED: Final = "not"
"""The value of a text that denies something."""


def written_values(text: str) -> frozenset[str]:
    """The numbers in `text` ("2.5", "02:13", "2026-03-01"), and `DENIED` where it denies something."""
    numbers = frozenset(_NUMBER.findall(text))
    return numbers | {DENIED} if denies(text) else numbers


def denies(text: str) -> bool:
    """Whether `text` has an odd number of negations: two take each other back."""
    return len(_NEGATION.findall(text.lower().replace("\u2019", "'"))) % 2 == 1
