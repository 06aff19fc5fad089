"""Derived statements: what a turn says, in words that can be read without the turns before it.

The verbatim memory of the turn is always kept. A statement stands beside it where it adds something: an
answer with its question, a correction ("make that 8") with what it corrects.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from helix_ingest.extraction.acts.answered_question import ANSWERED_WITHIN, answered_question
from helix_ingest.extraction.acts.slips import needs_what_it_corrects
from helix_ingest.extraction.acts.speech_act import speech_act
from helix_ingest.extraction.persons.organisations import with_organisation
from helix_ingest.extraction.persons.pronouns import Turn, with_person
from helix_memory.events import MessageEvent
from helix_shared.text.scripts import FULL_STOPS, QUESTION_MARKS, word_count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from helix_ingest.extraction.acts.answered_question import Question
    from helix_ingest.extraction.values import LoggedEvent

ANSWER_WORDS: Final = 40
"""A longer answer can be read on its own."""
QUESTION_CHARACTERS: Final = 300
RESOLVED_WORDS: Final = 60
"""In a longer turn the person behind a pronoun is a small part."""
STATING_NOTHING: Final = frozenset({"question", "acknowledgement"})
_ENDS: Final = (".", "!", ",", ":", ";", "\u2026", *QUESTION_MARKS, *FULL_STOPS)


class DerivedStatement(NamedTuple):
    """A derived statement: its text, and the text of its own vector."""

    text: str
    embedded: str
    """Without what an elliptic question is about: that is in the context vector (ops/decisions/0035)."""


def derived_statement(
    logged: LoggedEvent,
    question: Question | None,
    session: Sequence[LoggedEvent],
    just_before: LoggedEvent | None = None,
) -> DerivedStatement | None:
    """The statement that a turn makes with the question it answers, and with a name for its pronoun.

    `session` are the turns before it that it may quote, oldest first; `just_before` is the last of them if
    no other turn was in between. None if that adds nothing.
    """
    event = logged.event
    if not isinstance(event, MessageEvent):
        return None
    turns = [as_turn(turn.event) for turn in session if isinstance(turn.event, MessageEvent)]
    is_correction = question is None and needs_what_it_corrects(event.text)
    if is_correction and (corrected := _corrected(logged, just_before, session)):
        text = f"{_ended(corrected)} {event.text}"
        return DerivedStatement(text, text)
    if question is None or word_count(event.text) > ANSWER_WORDS:
        if word_count(event.text) > RESOLVED_WORDS or speech_act(event, event.text) in STATING_NOTHING:
            return None
        text = with_person(as_turn(event), turns) or with_organisation(as_turn(event), turns)
        return DerivedStatement(text, text) if text else None
    asked, said = _resolved_question(question, turns), with_person(as_turn(event), turns) or event.text
    if question.picked:
        said = f"{said.rstrip('.')} ({question.picked})"
    answered = f"{_ended(asked[-QUESTION_CHARACTERS:].strip())} {said}"
    text = f"{_ended(question.topic)} {answered}" if question.topic else answered
    return DerivedStatement(text, answered)


def _corrected(logged: LoggedEvent, just_before: LoggedEvent | None, session: Sequence[LoggedEvent]) -> str:
    """The statement just before `logged`, which gives nothing but another value for it; else empty.

    One that answers a question has the question in front.
    """
    before = just_before.event if just_before else None
    if just_before is None or not isinstance(before, MessageEvent) or before.role == "tool":
        return ""
    is_old = logged.occurred_at - just_before.occurred_at > ANSWERED_WITHIN
    if is_old or word_count(before.text) > ANSWER_WORDS or needs_what_it_corrects(before.text):
        return ""
    question = answered_question(just_before, session[:-1])
    if question is not None:
        return f"{_ended(question.text[-QUESTION_CHARACTERS:].strip())} {before.text.strip()}"
    return "" if speech_act(before, before.text) in STATING_NOTHING else before.text.strip()


def as_turn(event: MessageEvent) -> Turn:
    """A turn as the rules for persons read it."""
    return Turn(event.speaker or event.role, event.text)


def _resolved_question(question: Question, turns: Sequence[Turn]) -> str:
    asked = question.asked.event
    if not isinstance(asked, MessageEvent):
        return question.text
    turn = as_turn(asked)
    places = [n for n, one in enumerate(turns) if one == turn]
    before = [*turns[: places[-1] if places else 0], Turn(turn.speaker, turn.text[: question.start])]
    return with_person(Turn(turn.speaker, question.text), before) or question.text


def _ended(text: str) -> str:
    """A text with a mark at its end."""
    return text if text.endswith(_ENDS) else f"{text}."
