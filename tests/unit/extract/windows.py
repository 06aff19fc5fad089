"""Turns and windows made by hand."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from helix_extract.windows.window import Turn, Window
from helix_memory.events import MessageEvent

BEGIN = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


def turn(number: int, text: str, *, seconds: float = 0.0, **fields: Any) -> Turn:
    """The turn of sequence `number`, stored `seconds` after the first."""
    given = {"role": "user", "speaker": "Mara", "session_id": "s", **fields}
    event = MessageEvent(event_id=f"e{number}", tenant_id="acme", text=text, **given)
    return Turn(event, number, BEGIN + timedelta(seconds=seconds))


def window(*texts: str, **fields: Any) -> Window:
    """A window of these turns."""
    return Window(tuple(turn(number, text, **fields) for number, text in enumerate(texts, 1)))
