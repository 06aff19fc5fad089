"""Whether a text denies something, by its negations in English."""

from __future__ import annotations

import re
from typing import Final

_NEGATION: Final = re.compile(
    r"\b(?:not|no|never|nothing|neither|nor|without|cannot|cant|dont|wont|no longer|stopped|quit)\b|n't\b"
)


def denies(text: str) -> bool:
    """Whether `text` has an odd number of negations: two take each other back."""
    return len(_NEGATION.findall(text.lower().replace("\u2019", "'"))) % 2 == 1
