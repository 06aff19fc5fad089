"""Which columns of a corrected memory a correction keeps: those of the fields that are absent in it.

Ingest does not have the corrected memory, so it names the columns and consolidation copies them. A field that
is present, even empty or null, is set.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from helix_memory.events import CorrectEvent

_COLUMNS: Final = {
    "project_id": "project_id",
    "session_id": "session_id",
    "tags": "categories",
    "type": "type",
    "title": "title",
    "salience": "salience",
    "confidence": "confidence",
    "pinned": "pinned",
    "priority": "priority",
    "valid_from": "valid_from",
    "valid_to": "valid_to",
    "expires_at": "expires_at",
}
"""Column of each field that a correction may set; it never changes who may recall the memory."""
_SOURCE: Final = ("document_id", "source_uri", "source_class", "speaker", "role")
"""Columns that no correction sets.

A new version of the document still replaces the memory, and what a user said stays a user's statement, which
a later statement of the same user may replace.
"""
_EVENT_TIMES: Final = ("event_start", "event_end")
_EVENT_COLUMNS: Final = (*_EVENT_TIMES, "event_guessed")
"""The times and whether they are a guess are kept together."""


def kept_columns(event: CorrectEvent, rows: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Columns of `edges.memories_schema` to copy from the corrected memory; `rows` are of the correction.

    The event times are kept only if the correction sets none and its text names none.
    """
    absent = [column for field, column in _COLUMNS.items() if field not in event.model_fields_set]
    has_times = any(time in event.model_fields_set for time in _EVENT_TIMES)
    has_times |= any(row[time] is not None for row in rows for time in _EVENT_TIMES)
    return (*absent, *_SOURCE, *(() if has_times else _EVENT_COLUMNS))
