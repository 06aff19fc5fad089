"""The values that a text writes down: by them, texts of nearly the same wording say different things."""

from __future__ import annotations

import re
from typing import Final

from helix_shared.text.negations import denies

_NUMBER: Final = re.compile(r"\d+(?:[.,:/-]\d+)*")
DENIED: Final = "not"
"""The value of a text that denies something."""


def written_values(text: str) -> frozenset[str]:
    """The numbers in `text` ("2.5", "02:13", "2026-03-01"), and `DENIED` where it denies something."""
    numbers = frozenset(_NUMBER.findall(text))
    return numbers | {DENIED} if denies(text) else numbers
