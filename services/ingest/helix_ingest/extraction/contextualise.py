"""Context of a memory: its neighbouring turns.

The neighbours of a turn are two turns before and one after (the largest measured gain on chat). They are
searched with the text but are not part of it. A memory quotes only turns that everyone who may recall it may
also recall (`quotable`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from helix_ingest.extraction.values import LoggedEvent
from helix_memory.events import MessageEvent
from helix_shared.audience import may_quote
from helix_shared.encoders.passages import before_turn

TURNS_BEFORE: Final = 2
NEIGHBOUR_CHARACTERS: Final = 1_000
"""Characters of a neighbour in the context field."""
WINDOW_CHARACTERS: Final = 100
"""Characters of a neighbour in the context vector, so that the turn itself is not truncated."""


def quotable(turns: Sequence[LoggedEvent], quoting: LoggedEvent) -> list[LoggedEvent]:
    """Those of `turns`, in order, whose text a memory of `quoting` may contain."""
    return [turn for turn in turns if may_quote(quoting.scope, turn.scope)]


def with_speaker(event: MessageEvent) -> str:
    """A turn with its speaker in front, as used in contexts and passages."""
    return before_turn(event.speaker, event.role) + event.text


def neighbours(turns: Sequence[LoggedEvent], *, most_characters: int) -> str:
    """Turns as lines, each cut to its first `most_characters`."""
    lines = [with_speaker(turn.event) for turn in turns if isinstance(turn.event, MessageEvent)]
    return "\n".join(line[:most_characters] for line in lines)
