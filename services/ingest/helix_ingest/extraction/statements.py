"""Derived statements: what a turn says, in words that can be read without the turns before it.

The verbatim memory of the turn is always kept. A statement stands beside it where it adds something: an
answer with its question.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from helix_memory.events import MessageEvent
from helix_shared.scripts import word_count

if TYPE_CHECKING:
    from helix_ingest.extraction.acts.answers import Question

ANSWER_WORDS: Final = 40
"""A longer answer can be read on its own."""
QUESTION_CHARACTERS: Final = 300


def statement_of(event: MessageEvent, question: Question | None) -> str:
    """The statement that a turn makes together with the question it answers; empty if it adds nothing."""
    if question is None or word_count(event.text) > ANSWER_WORDS:
        return ""
    return f"{question.text[-QUESTION_CHARACTERS:].strip()} {event.text}"
