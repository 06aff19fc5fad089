"""Context of a memory: its neighbouring turns, and the question that a short answer belongs to.

The neighbours of a turn are two turns before and one after (the largest measured gain on chat). They are
searched with the text but are not part of it. Only a short answer, like "next April", gets its question into
its text. A memory quotes only turns that everyone who may recall it may also recall (`quotable`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from helix_ingest.extraction.draft import LoggedEvent
from helix_memory.events import MessageEvent
from helix_shared.audience import may_quote
from helix_shared.scripts import FULL_STOPS, QUESTION_MARKS, unspaced_words

TURNS_BEFORE: Final = 2
NEIGHBOUR_CHARACTERS: Final = 1_000
"""Characters of a neighbour in the context field."""
WINDOW_CHARACTERS: Final = 300
"""Characters of a neighbour in the context vector, so that the turn itself is not truncated."""

_SHORT_ANSWER_WORDS: Final = 6
_QUESTION_CHARACTERS: Final = 300
_END: Final = rf".!\n{QUESTION_MARKS}{FULL_STOPS}"
_LAST_QUESTION: Final = re.compile(rf"(?<![^{_END}])[^{_END}]{{3,300}}[{QUESTION_MARKS}]\s*$")
_QUESTION: Final = re.compile(f"[{QUESTION_MARKS}]")
_ACKNOWLEDGEMENT: Final = re.compile(
    r"^\W*(thanks?|thank you|cool|great|nice|wow|ok(ay)?|sure|bye|hi|hey|hello|good|awesome|lol|haha)\b"
    # thanks, all right, haha and greetings of Chinese, Japanese and Korean
    r"|^\W*(\u8c22\u8c22|\u8b1d\u8b1d|\u591a\u8c22|\u597d\u7684|\u54c8\u54c8|\u4f60\u597d|\u518d\u89c1"
    r"|\u3042\u308a\u304c\u3068\u3046|\u3053\u3093\u306b\u3061\u306f|\uac10\uc0ac|\uace0\ub9c8\uc6cc|\uc548\ub155)",
    re.IGNORECASE,
)


def quotable(turns: Sequence[LoggedEvent], quoting: LoggedEvent) -> list[LoggedEvent]:
    """Those of `turns`, in order, whose text a memory of `quoting` may contain."""
    return [turn for turn in turns if may_quote(quoting.scope, turn.scope)]


def speak(event: MessageEvent) -> str:
    """A turn with its speaker in front, as used in contexts and passages."""
    name = event.speaker or event.role
    return f"{name}: {event.text}"


def answered_question(event: MessageEvent, before: Sequence[LoggedEvent]) -> str:
    """The question that a short answer belongs to, or an empty string.

    `before` holds quotable earlier turns of the session, oldest first. A turn is an answer if it has at most
    six words, is neither a question nor small talk, and directly follows a question of another speaker.
    """
    if not before or _QUESTION.search(event.text) or _ACKNOWLEDGEMENT.match(event.text):
        return ""
    previous = before[-1].event
    if not isinstance(previous, MessageEvent) or _speaker(previous) == _speaker(event):
        return ""
    if len(event.text.split()) + unspaced_words(event.text) > _SHORT_ANSWER_WORDS:
        return ""
    question = _LAST_QUESTION.search(previous.text[-_QUESTION_CHARACTERS:])
    return question[0].strip() if question else ""


def self_contained(event: MessageEvent, before: Sequence[LoggedEvent]) -> str:
    """The text of the memory of a turn; a short answer is preceded by its question."""
    question = answered_question(event, before)
    return f"{question} {event.text}" if question else event.text


def neighbours(turns: Sequence[LoggedEvent], *, most_characters: int) -> str:
    """Turns as lines, each cut to its first `most_characters`."""
    lines = [speak(turn.event) for turn in turns if isinstance(turn.event, MessageEvent)]
    return "\n".join(line[:most_characters] for line in lines)


def _speaker(event: MessageEvent) -> tuple[str, str]:
    return event.role, event.speaker
