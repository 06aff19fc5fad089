"""The union of all kinds of event, and how an event is read, written and addressed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Final

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from helix_memory import subjects
from helix_memory.events.base import EventBase
from helix_memory.events.content import (
    CorrectEvent,
    DocumentEvent,
    DocumentPart,
    MemoryEvent,
    MessageEvent,
    SessionEvent,
    ToolEvent,
)
from helix_memory.events.lifecycle import EraseEvent, FeedbackEvent, ForgetEvent, UndoEvent
from helix_memory.refusal import first_broken

Event = Annotated[
    MessageEvent
    | ToolEvent
    | MemoryEvent
    | DocumentEvent
    | CorrectEvent
    | ForgetEvent
    | EraseEvent
    | UndoEvent
    | FeedbackEvent
    | SessionEvent,
    Field(discriminator="kind"),
]

EVENT_ADAPTER: Final[TypeAdapter[Event]] = TypeAdapter(Event)
EVENT_MODELS: Final[Mapping[str, type[EventBase]]] = {
    "message": MessageEvent,
    "tool": ToolEvent,
    "memory": MemoryEvent,
    "document": DocumentEvent,
    "correct": CorrectEvent,
    "forget": ForgetEvent,
    "erase": EraseEvent,
    "undo": UndoEvent,
    "feedback": FeedbackEvent,
    "session": SessionEvent,
}
NO_MEMORY_KINDS: Final = (*subjects.LIFECYCLE_KINDS, "session")
"""Kinds of events that make no memory of their own."""


def parse_event(body: bytes) -> Event:
    """The event in a JSON body.

    Raises:
        pydantic.ValidationError: the body is not JSON or breaks a rule; `explain` turns it into a reason.
    """
    return EVENT_ADAPTER.validate_json(body)


def encode_event(event: Event) -> bytes:
    """JSON body of an event: its kind and every field that differs from its default.

    A correction is written with every field that was set, because an absent field keeps its old value.
    """
    is_correction = isinstance(event, CorrectEvent)
    body = event.model_dump(mode="json", exclude_defaults=not is_correction, exclude_unset=is_correction)
    body["kind"] = event.kind
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def explain(error: ValidationError) -> str:
    """The first broken rule of a validation error as `field: reason`, without the input."""
    path, reason = first_broken(error, _field_names(error))
    # the path also names branches of unions: first the kind, later "constrained-str" or similar
    inside = path[1:] if path[:1] and path[0] in EVENT_MODELS else path
    field = ".".join(part for part in inside if part.isidentifier() or part.isdecimal()) or "event"
    return f"{field}: {reason}"


def _field_names(error: ValidationError) -> set[str]:
    """Field names of the model that refused its input: an event or a part of a document."""
    path = error.errors(include_url=False, include_input=False)[0]["loc"]
    model: type[BaseModel] | None = EVENT_MODELS.get(str(path[0])) if path else None
    if model is DocumentEvent and "parts" in path[1:2]:
        model = DocumentPart
    return set(model.model_fields) if model else set()


def subject_of(event: Event) -> str:
    """The subject an event is published on."""
    return subjects.event_subject(event.tenant_id, event.session_id, event.kind)
