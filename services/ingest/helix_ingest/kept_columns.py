"""Which columns of a corrected memory stay as they are: those that the correction says nothing of.

Ingest does not know the corrected memory, so it names the columns and consolidation fills them in. A field
that is given, be it empty or null, is set; one that is absent is kept.
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
"""Column of each field that a correction may set; who may recall it is always that of the old memory."""
_SOURCE: Final = ("document_id", "source_uri")
"""What no correction can set: the document goes on to be what a new version of it replaces."""
_EVENT_TIMES: Final = ("event_start", "event_end")
_EVENT_COLUMNS: Final = (*_EVENT_TIMES, "event_guessed")
"""The times go with the label that says whether they are a guess."""


def kept_columns(event: CorrectEvent, rows: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Columns of `edges.memories_schema` to take from the corrected memory; `rows` are made of the event.

    The time of the thing spoken of is kept only where the event gives none and the new text names none.
    """
    absent = [column for field, column in _COLUMNS.items() if field not in event.model_fields_set]
    has_times = any(time in event.model_fields_set for time in _EVENT_TIMES)
    has_times |= any(row[time] is not None for row in rows for time in _EVENT_TIMES)
    return (*absent, *_SOURCE, *(() if has_times else _EVENT_COLUMNS))
