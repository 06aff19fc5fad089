"""Tells which question a turn answers: one of another speaker in the turn before it.

Length does not matter ("No, I sold my ticket in March"), nor where the question stands in its turn. What
changes the subject, only thanks, or asks in return is no answer.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from helix_ingest.extraction.acts.acknowledgement import assents, dissents, is_acknowledgement
from helix_ingest.extraction.acts.sentences import MOST_CHARACTERS, asks_yes_or_no, is_question, sentences
from helix_ingest.extraction.acts.speech_act import speech_act
from helix_memory.events import MessageEvent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from helix_ingest.extraction.draft import LoggedEvent

_QUESTIONS: Final = 2
"""Questions of one turn that an answer may take, the last ones."""
_SENTENCES_AFTER: Final = 4
"""A question that more sentences follow is not what the next turn answers."""
_CHANGES_SUBJECT: Final = re.compile(
    r"^\W*(?:also|btw|by the way|(?:different|other|new|another) (?:topic|thing|subject|news|question)"
    r"|unrelated"
    r"|oh and|anyway|one more thing|off[ -]topic|fyi|ps|p\.s\.|on another note"
    r"|changing (?:the )?(?:topic|subject))\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Question:
    """The question that a turn answers."""

    asked: LoggedEvent
    text: str
    """Its words; of several questions in one turn the last ones."""
    start: int
    """Where its words begin in the text of `asked`."""
    yes_or_no: bool


def answered_question(answering: LoggedEvent, before: Sequence[LoggedEvent]) -> Question | None:
    """The question that a turn answers; `before` holds quotable earlier turns of its session, oldest first.

    The output of a tool between question and answer is passed over.
    """
    event = answering.event
    if not isinstance(event, MessageEvent) or _CHANGES_SUBJECT.match(event.text):
        return None
    asked = _last_other(event, before)
    question = _question_of(asked) if asked else None
    return question if question and _answers(event, question) else None


def _last_other(event: MessageEvent, before: Sequence[LoggedEvent]) -> LoggedEvent | None:
    for turn in reversed(before):
        previous = turn.event
        if not isinstance(previous, MessageEvent):
            return None
        if previous.role == "tool":
            continue
        return turn if (previous.role, previous.speaker) != (event.role, event.speaker) else None
    return None


def _question_of(asked: LoggedEvent) -> Question | None:
    """The last questions of a turn, if they are near its end."""
    text = getattr(asked.event, "text", "")
    skipped = max(0, len(text) - MOST_CHARACTERS)
    found = sentences(text[skipped:])
    questions = [n for n, sentence in enumerate(found) if is_question(sentence.text)]
    if not questions or questions[-1] < len(found) - 1 - _SENTENCES_AFTER:
        return None
    first = questions[-1]
    while first - 1 in questions and questions[-1] - first < _QUESTIONS - 1:
        first -= 1
    chosen = found[first : questions[-1] + 1]
    words = " ".join(sentence.text for sentence in chosen)
    yes_or_no = any(asks_yes_or_no(sentence.text) for sentence in chosen)
    return Question(asked, words, skipped + chosen[0].start, yes_or_no)


def _answers(event: MessageEvent, question: Question) -> bool:
    if is_acknowledgement(event.text):
        return question.yes_or_no and (assents(event.text) or dissents(event.text))
    return speech_act(event, event.text) not in ("question", "acknowledgement")
