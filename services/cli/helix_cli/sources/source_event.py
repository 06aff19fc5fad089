"""What reading yields: an event with the place it came from, or why a place holds none.

`reading` makes them from JSONL, `sources` from other people's files; `sending` publishes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pydantic import ValidationError

from helix_memory import events, limits
from helix_shared.broker.publisher import HEADER_ALLOWANCE_BYTES

BODY_BYTES: Final = limits.EVENT_BYTES - HEADER_ALLOWANCE_BYTES
"""Largest JSON body that still fits the stream together with its headers."""


@dataclass(frozen=True, slots=True)
class SourceEvent:
    """An event and where it stands, as `file:line`."""

    where: str
    event: events.Event


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why there is no event at a place."""

    where: str
    field: str
    reason: str

    def __str__(self) -> str:
        """The line a person reads."""
        return f"{self.where}: {self.field}: {self.reason}"


Entry = SourceEvent | Refusal
"""What reading one place yields."""


def refused(where: str, error: ValidationError) -> Refusal:
    """The first broken rule of a validation error."""
    field, _, reason = events.explain(error).partition(": ")
    return Refusal(where, field, reason)


def from_json(where: str, body: bytes) -> SourceEvent | Refusal:
    """The event in a JSON body, if it keeps every limit."""
    try:
        return _measured(where, events.parse_event(body))
    except ValidationError as error:
        return refused(where, error)


def from_fields(where: str, fields: Mapping[str, Any]) -> SourceEvent | Refusal:
    """The event with these fields, if it keeps every limit; halves of surrogate pairs become `?`."""
    mended = {key: _mend(value) for key, value in fields.items()}
    try:
        return _measured(where, events.EVENT_ADAPTER.validate_python(mended))
    except ValidationError as error:
        return refused(where, error)


def _measured(where: str, event: events.Event) -> SourceEvent | Refusal:
    size_bytes = len(events.encode_event(event))
    if size_bytes > BODY_BYTES:
        return Refusal(where, "event", f"{size_bytes} bytes of JSON; at most {BODY_BYTES}, split the text")
    return SourceEvent(where, event)


def _mend(value: object) -> object:
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
