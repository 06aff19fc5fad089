"""The items that every reader yields: an event with the place it was read from, or a refusal of that place.

`clients.sending` and `clients.bulk` publish the events.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pydantic import ValidationError

from helix_memory import events, limits
from helix_memory.transport.publisher import HEADER_ALLOWANCE_BYTES
from helix_shared.text.unicode_form import storable

BODY_BYTES: Final = limits.EVENT_BYTES - HEADER_ALLOWANCE_BYTES
"""Largest JSON body that fits into a message of the stream with its headers."""


@dataclass(frozen=True, slots=True)
class SourceEvent:
    """An event and the place it was read from, as `file:line`."""

    where: str
    event: events.Event


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a place holds no event."""

    where: str
    field: str
    reason: str

    def __str__(self) -> str:
        """One line for people."""
        return f"{self.where}: {self.field}: {self.reason}"


Entry = SourceEvent | Refusal
"""Result of reading one place."""


def refusal_of(where: str, error: ValidationError) -> Refusal:
    """A refusal with the first broken rule of a validation error."""
    field, _, reason = events.explain(error).partition(": ")
    return Refusal(where, field, reason)


def from_json(where: str, body: bytes) -> SourceEvent | Refusal:
    """The event in a JSON body, or a refusal if it breaks a limit."""
    try:
        return _measured(where, events.parse_event(body))
    except ValidationError as error:
        return refusal_of(where, error)


def from_fields(where: str, fields: Mapping[str, Any]) -> SourceEvent | Refusal:
    """The event with these fields, or a refusal if it breaks a limit; lone surrogates become `?`."""
    repaired = {key: _repair(value) for key, value in fields.items()}
    try:
        return _measured(where, events.EVENT_ADAPTER.validate_python(repaired))
    except ValidationError as error:
        return refusal_of(where, error)


def _measured(where: str, event: events.Event) -> SourceEvent | Refusal:
    size_bytes = len(events.encode_event(event))
    if size_bytes > BODY_BYTES:
        return Refusal(where, "event", f"{size_bytes} bytes of JSON; at most {BODY_BYTES}, split the text")
    return SourceEvent(where, event)


def _repair(value: object) -> object:
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, Mapping):
        return {key: _repair(inner) for key, inner in value.items()}
    return [_repair(inner) for inner in value] if isinstance(value, list | tuple) else value
