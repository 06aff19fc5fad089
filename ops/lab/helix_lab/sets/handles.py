"""Opaque handles, which replace the set's own ids in the engine.

Public benchmarks leak their labels through ids ("D1:3" is evidence, "answer_..." is a session).
Tenants, sessions and documents get a hash; only the lab can map it back.
"""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta

from helix_lab.sets.data import Document, EvaluationSet
from helix_memory.events import Event, MemoryEvent, MessageEvent
from helix_shared.errors import InvalidInputError

EVERYONE = "everyone"
"""Tenant of a corpus that names none."""


def handle(kind: str, set_name: str, identifier: str) -> str:
    """An opaque token: the same for the same id, and valid in a subject."""
    return hashlib.blake2b(f"{set_name}\x1f{kind}\x1f{identifier}".encode(), digest_size=10).hexdigest()


def tenant_of(set_name: str, tenant: str) -> str:
    """Handle of a tenant; equal tenants of different sets have different handles."""
    return handle("tenant", set_name, tenant or EVERYONE)


def moment(timestamp: str) -> datetime | None:
    """A timestamp of the set as UTC; the sets' naive ones are taken as UTC.

    Raises:
        InvalidInputError: it is no ISO 8601 of these years.
    """
    if not timestamp:
        return None
    try:
        read = datetime.fromisoformat(timestamp)
        return read.astimezone(UTC) if read.tzinfo else read.replace(tzinfo=UTC)
    except (ValueError, OverflowError) as error:
        raise InvalidInputError(
            "timestamp", f"{timestamp!r} is not ISO 8601, as in 2026-11-22T09:30:00Z"
        ) from error


def end_of(timestamp: str, start: datetime) -> datetime:
    """The last moment that a timestamp, which begins at `start`, may mean: of its day, or of its second.

    A question of the day of the last turns is asked after them.
    """
    is_date = len(timestamp) <= len("2026-11-22")
    return start + (timedelta(days=1) if is_date else timedelta(seconds=1)) - timedelta(microseconds=1)


def event_of(data: EvaluationSet, position: int) -> Event:
    """The event a document is published as: a turn if it has a speaker, else an explicit memory.

    Turns of one moment are placed a microsecond apart, in the order of their lines.
    """
    document = data.documents[position]
    shared = {
        "event_id": handle("document", data.name, document.id),
        "tenant_id": tenant_of(data.name, document.tenant),
        "session_id": handle("session", data.name, document.session_id) if document.session_id else "",
        "occurred_at": _occurred_at(document, position),
        "text": document.text,
    }
    if document.speaker:
        role = document.speaker if document.speaker in {"user", "assistant", "system"} else "user"
        name = "" if role == document.speaker else document.speaker
        return MessageEvent.model_validate(shared | {"role": role, "speaker": name})
    return MemoryEvent.model_validate(shared | {"title": document.title})


def _occurred_at(document: Document, position: int) -> datetime | None:
    when = moment(document.timestamp)
    return when + timedelta(microseconds=position) if when else None
