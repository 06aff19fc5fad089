"""How a question speaks of what was; `routing.past.past_question` tells it, stages 3 to 8 use it."""

from __future__ import annotations

from enum import Enum


class Past(Enum):
    """What a question wants of the past, and how sure that is."""

    NO = 0
    TENSE = 1
    """By its tense alone it is about the past; it may still want what holds."""
    SAID = 2
    """What was at an earlier time: by its tense and a word of such times."""
    FORMER = 3
    """What was before the last change ("the old code", "before we moved")."""
    FIRST = 4
    """What was before all changes ("originally", "at first")."""
    CHANGES = 5
    """What changed, when, or how often."""

    @property
    def is_said(self) -> bool:
        """Whether its words say so, not its tense alone."""
        return self not in (Past.NO, Past.TENSE)

    @property
    def wants_replaced(self) -> bool:
        """Whether what was replaced goes before its replacement."""
        return self in (Past.FORMER, Past.FIRST)
