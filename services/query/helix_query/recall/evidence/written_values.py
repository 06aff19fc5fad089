"""The values that a text writes down: by them, texts of nearly the same wording say different things."""

from __future__ import annotations

import re
from typing import Final

_NUMBER: Final = re.compile(r"\d+(?:[.,:/-]\d+)*")
_NEGATION: Final = re.compile(r"\b(?:not|no|never|none|nobody|nothing|without|cannot)\b|n['\u2019]t\b")
NEGATED: Final = "not"
"""The value of a text with a negation of any form."""


def written_values(text: str) -> frozenset[str]:
    """The numbers in `text` ("2.5", "02:13", "2026-03-01"), and `NEGATED` where something is denied."""
    numbers = frozenset(_NUMBER.findall(text))
    return numbers | {NEGATED} if _NEGATION.search(text.lower()) else numbers
