"""The prefix of a memory's text where it is embedded: its speaker, or its title.

Ingest writes it and an explanation reads it, so both take it from here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def before_turn(speaker: str, role: str) -> str:
    """The speaker of a turn, or the role where nobody is named."""
    return f"{speaker or role}: "


def before_piece(heading: str) -> str:
    """The title and headings of a piece of a document, of a note or of a tool call; empty without any."""
    return f"{heading}\n" if heading else ""


def before_record(record: Mapping[str, Any]) -> str:
    """The prefix of the text of a memory, by its record in the signals."""
    if record["event_kind"] == "message" and not record["title"]:
        return before_turn(record["speaker"], record["role"])
    return before_piece(record["title"])
