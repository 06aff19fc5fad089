"""What a framework is told about a memory beside its text."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from helix_memory.client.results import RecalledMemory

_FIELDS: Final = (
    "type", "title", "user_id", "project_id", "session_id", "event_kind", "document_id", "source_uri",
    "speaker", "role", "created_at", "occurred_at", "event_start", "event_end", "pinned", "categories",
    "entities", "flags", "rank", "score", "relevance",
)  # fmt: skip


def shown_fields(memory: RecalledMemory) -> dict[str, Any]:
    """The fields of a memory that say something, as JSON values; times are ISO 8601 in UTC."""
    return {
        name: _plain(value)
        for name in _FIELDS
        if (value := getattr(memory, name)) is not None and value not in ("", (), False)
    }


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return list(value) if isinstance(value, tuple) else value
