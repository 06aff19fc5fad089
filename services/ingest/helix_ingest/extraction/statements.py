"""Derived statements: what a turn says, in words that can be read without the turns before it.

The verbatim memory of the turn is always kept. A statement stands beside it where it adds something: an
answer with its question.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from helix_memory.events import MessageEvent
from helix_shared.scripts import FULL_STOPS, QUESTION_MARKS, word_count

if TYPE_CHECKING:
    from helix_ingest.extraction.acts.answers import Question

ANSWER_WORDS: Final = 40
"""A longer answer can be read on its own."""
QUESTION_CHARACTERS: Final = 300
_ENDS: Final = (".", "!", ",", ":", ";", "\u2026", *QUESTION_MARKS, *FULL_STOPS)


class Statement(NamedTuple):
    """A derived statement: its text, and the text of its own vector."""

    text: str
    embedded: str
    """Without what an elliptic question is about: that is in the context vector (ops/decisions/0035)."""


def statement_of(event: MessageEvent, question: Question | None) -> Statement | None:
    """The statement that a turn makes together with the question it answers; None if it adds nothing."""
    if question is None or word_count(event.text) > ANSWER_WORDS:
        return None
    answered = f"{_ended(question.text[-QUESTION_CHARACTERS:].strip())} {event.text}"
    text = f"{_ended(question.topic)} {answered}" if question.topic else answered
    return Statement(text, answered)


def _ended(text: str) -> str:
    """A text with a mark at its end."""
    return text if text.endswith(_ENDS) else f"{text}."
