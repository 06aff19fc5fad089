"""Kinds of questions about the past; `routing.past.past_question` decides, stages 3 to 8 read it."""

from __future__ import annotations

from enum import Enum


class PastQuestion(Enum):
    """What a question asks about the past, and how certain that is."""

    NO = 0
    TENSE = 1
    """Only its tense is past; it may still ask for what holds now."""
    EARLIER = 2
    """Its tense and a word of earlier times ask for what was then."""
    FORMER = 3
    """It asks for what was before the last change ("the old code", "before we moved")."""
    FIRST = 4
    """It asks for what was before all changes ("originally", "at first")."""
    CHANGES = 5
    """It asks what changed, when, or how often."""

    @property
    def is_in_words(self) -> bool:
        """Whether words of the question are about the past, not only its tense."""
        return self not in (PastQuestion.NO, PastQuestion.TENSE)

    @property
    def asks_for_replaced(self) -> bool:
        """Whether it asks for a value that another one has replaced."""
        return self in (PastQuestion.FORMER, PastQuestion.FIRST)

    @property
    def asks_for_a_change(self) -> bool:
        """Whether it asks for a value that was replaced, or for its replacement."""
        return self.asks_for_replaced or self is PastQuestion.CHANGES
