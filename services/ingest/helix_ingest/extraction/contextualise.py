"""Context: what stands around a memory, and what a short answer means.

Two turns before and one after are the neighbours of a turn (findings: the largest gain on chat).
They are searched beside the text and never become part of it; only a short answer takes the
question it answers into its text, because "next April" alone says nothing. Either way a memory quotes only
turns that everybody who may recall it may recall too (`quotable`).
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
"""A neighbour's share of the context field."""
WINDOW_CHARACTERS: Final = 300
"""A neighbour's share of the context vector, so that the turn itself is never truncated away."""

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
    """Those of `turns`, in their order, whose text may stand in a memory of `quoting`."""
    return [turn for turn in turns if may_quote(quoting.scope, turn.scope)]


def speak(event: MessageEvent) -> str:
    """A turn with its speaker in front, as it stands in contexts and passages."""
    name = event.speaker or event.role
    return f"{name}: {event.text}"


def answered_question(event: MessageEvent, before: Sequence[LoggedEvent]) -> str:
    """The question a short answer answers, or an empty string.

    `before` holds quotable earlier turns of the session, oldest first. A turn of at most six words that is
    neither a question nor small talk, right after another speaker's question, is an answer.
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
    """The text of the memory a turn becomes: the turn, headed by the question when it is a short answer."""
    question = answered_question(event, before)
    return f"{question} {event.text}" if question else event.text


def neighbours(turns: Sequence[LoggedEvent], *, most_characters: int) -> str:
    """Turns as lines, each clipped to `most_characters`: the end of what came before matters most."""
    lines = [speak(turn.event) for turn in turns if isinstance(turn.event, MessageEvent)]
    return "\n".join(line[:most_characters] for line in lines)


def _speaker(event: MessageEvent) -> tuple[str, str]:
    return event.role, event.speaker
