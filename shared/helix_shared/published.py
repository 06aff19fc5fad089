"""A published event with its position, the columns that its memories inherit, and its reader.

Used by every reader of HELIX_EVENTS.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Generic, TypeVar

from pydantic import ValidationError

from helix_memory import events, subjects
from helix_shared.audience import Scope
from helix_shared.errors import InvalidInputError, PermanentError

_FORM: Final = subjects.events_of_kind("<kind>", tenant_id="<tenant>", session_id="<session>")

AnyEvent = TypeVar("AnyEvent", bound=events.Event)


@dataclass(frozen=True, slots=True)
class Published(Generic[AnyEvent]):
    """An event with its position in the log."""

    event: AnyEvent
    sequence: int
    stored_at: datetime

    @property
    def occurred_at(self) -> datetime:
        """When it happened; the time of publishing if the event does not say."""
        return self.event.occurred_at or self.stored_at

    @property
    def scope(self) -> Scope:
        """Tenant, project and session of its memories, and who may recall them."""
        event = self.event
        return Scope.of(
            tenant_id=event.tenant_id,
            user_id=event.user_id,
            project_id=event.project_id,
            session_id=event.session_id,
            acl=event.acl,
            shared=event.shared,
        )

    @property
    def columns(self) -> dict[str, Any]:
        """Columns of `edges.memories_schema` that every memory of the event has from it."""
        event = self.event
        return {
            "tenant_id": event.tenant_id,
            "user_id": event.user_id,
            "project_id": event.project_id,
            "session_id": event.session_id,
            "acl": event.acl,
            "shared": event.shared,
            "event_id": event.event_id,
            "event_kind": event.kind,
            "stream_sequence": self.sequence,
            "categories": event.tags,
            "created_at": self.stored_at,
            "occurred_at": self.occurred_at,
        }


def published_event(subject: str, body: bytes) -> events.Event:
    """The event in a message of HELIX_EVENTS.

    Raises:
        InvalidInputError: the subject is malformed, its kind is unknown, or subject and body differ.
        PermanentError: the body breaks a rule; the reason names the field.
    """
    address = subjects.parse_event_subject(subject)
    if address is None:
        raise InvalidInputError(
            "subject",
            f"not {_FORM} with tokens of A-Z a-z 0-9 _ -, 1 to 64",
        )
    if address.kind not in events.EVENT_MODELS:
        raise InvalidInputError(
            "kind", f"unknown kind {address.kind}; known: {', '.join(events.EVENT_MODELS)}"
        )
    try:
        event = events.parse_event(body)
    except ValidationError as error:
        raise PermanentError(events.explain(error)) from error
    for field, expected in (
        ("tenant_id", address.tenant_id),
        ("session_id", address.session_id),
        ("kind", address.kind),
    ):
        if getattr(event, field) != expected:
            raise InvalidInputError(
                field, f"the body differs from the subject, which says {expected or subjects.NO_SESSION}"
            )
    return event
