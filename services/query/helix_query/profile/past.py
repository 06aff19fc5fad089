"""How sure it is that a question is about what was; `routing.history` tells it, stage 6 and 8 use it."""

from __future__ import annotations

from enum import Enum


class Past(Enum):
    """How sure it is that a question is about the past."""

    NO = 0
    TENSE = 1
    """By its tense alone."""
    SAID = 2
    """By its tense and a word of earlier times, or it asks for changes."""
