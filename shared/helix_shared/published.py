"""Reads a published event and compares it with its subject; used by every reader of HELIX_EVENTS."""

from __future__ import annotations

from pydantic import ValidationError

from helix_memory import events, subjects
from helix_shared.errors import InvalidInputError, PermanentError


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
            f"not {subjects.ROOT}.events.<tenant>.<session>.<kind> with tokens of A-Z a-z 0-9 _ -, 1 to 64",
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
