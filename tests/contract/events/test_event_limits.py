"""Limits of the fields of events, and fields that contradict each other."""

import json
from typing import Any

import pytest

from helix_memory import events, limits

from .golden_events import golden_event, refusal_of


@pytest.mark.parametrize(
    ("kind", "field", "value"),
    [
        ("message", "text", "x" * (limits.TEXT_CHARACTERS + 1)),
        ("message", "text", ""),
        ("message", "text", " \n\t "),
        ("message", "tags", ["t"] * (limits.TAGS + 1)),
        ("message", "tags", ["x" * (limits.NAME_CHARACTERS + 1)]),
        ("message", "tags", [""]),
        ("message", "acl", ["p"] * (limits.PRINCIPALS + 1)),
        ("message", "user_id", "x" * (limits.NAME_CHARACTERS + 1)),
        ("message", "role", "robot"),
        ("message", "occurred_at", "2026-09-14T09:31:07"),
        ("message", "occurred_at", "yesterday"),
        ("tool", "output", "x" * (limits.TEXT_CHARACTERS + 1)),
        ("tool", "error", "x" * (limits.TEXT_CHARACTERS + 1)),
        ("tool", "file_path", "x" * (limits.URI_CHARACTERS + 1)),
        ("tool", "exit_status", 2**31),
        ("memory", "type", "gossip"),
        ("memory", "title", "x" * (limits.TITLE_CHARACTERS + 1)),
        ("memory", "salience", 1.01),
        ("memory", "confidence", -0.01),
        ("memory", "priority", 2.5),
        ("memory", "priority", 0.5),
        ("memory", "valid_from", "2026-10-01T00:00:00"),
        ("memory", "event_end", "2026-10-01"),
        ("document", "body", "x" * (limits.TEXT_CHARACTERS + 1)),
        ("document", "parts", [{"text": "p"}] * (limits.DOCUMENT_PARTS + 1)),
        ("document", "parts", [{"heading": "no text"}]),
        ("document", "source_uri", "x" * (limits.URI_CHARACTERS + 1)),
        ("correct", "memory_id", ""),
        ("correct", "memory_id", "m"),
        ("correct", "memory_id", "0123456789abcdef0123456789abcdef\n"),
        ("correct", "memory_id", "0123456789ABCDEF0123456789ABCDEF"),
        ("forget", "memory_ids", ["m"]),
        ("forget", "memory_ids", ["0" * 32] * (limits.SELECTED_IDS + 1)),
        ("erase", "memory_ids", ["0" * 31]),
        ("feedback", "helpful", ["m"]),
        ("feedback", "unhelpful", ["0" * 33]),
        ("feedback", "helpful", ["0" * 32] * (limits.SELECTED_IDS + 1)),
        ("session", "phase", "paused"),
    ],
)
def test_value_that_breaks_a_limit_is_refused_and_named(kind: str, field: str, value: object) -> None:
    """The reason names the field; nothing is truncated."""
    event = golden_event(kind)
    if field == "body":
        del event["parts"]
    assert refusal_of(event | {field: value}).startswith(field)


@pytest.mark.parametrize(
    ("kind", "field", "value"),
    [
        ("message", "text", "x" * limits.TEXT_CHARACTERS),
        ("message", "tags", ["t"] * limits.TAGS),
        ("message", "tags", ["x" * limits.NAME_CHARACTERS]),
        ("message", "acl", ["p"] * limits.PRINCIPALS),
        ("message", "tenant_id", "x" * 64),
        ("message", "event_id", "~" * 128),
        ("tool", "exit_status", -(2**31)),
        ("memory", "title", "x" * limits.TITLE_CHARACTERS),
        ("memory", "salience", 1.0),
        ("memory", "priority", 2.0),
        ("document", "parts", [{"text": "p"}] * limits.DOCUMENT_PARTS),
        ("feedback", "helpful", ["0" * 32] * limits.SELECTED_IDS),
    ],
)
def test_value_at_its_limit_is_accepted(kind: str, field: str, value: object) -> None:
    """A limit is the last value allowed, not the first one refused."""
    body = json.dumps(golden_event(kind) | {field: value}).encode()
    assert getattr(events.parse_event(body), field) is not None


@pytest.mark.parametrize(
    ("kind", "change", "reason"),
    [
        ("tool", {"command": "", "file_path": "", "output": " ", "error": ""}, "must hold text"),
        ("memory", {"valid_from": "2028-01-01T00:00:00Z"}, "valid_from must not be after valid_to"),
        ("memory", {"event_start": "2028-01-01T00:00:00Z"}, "event_start must not be after event_end"),
        ("document", {"body": "both"}, "either body or parts"),
        ("document", {"deleted": True}, "either body or parts"),
        ("forget", {"of_user": "mira"}, "exactly one of"),
        ("erase", {"of_user": ""}, "exactly one of"),
        ("feedback", {"helpful": [], "unhelpful": []}, "must name a memory"),
        ("session", {"session_id": ""}, "session_id must be given"),
    ],
)
def test_fields_that_contradict_each_other_are_refused(
    kind: str, change: dict[str, Any], reason: str
) -> None:
    """The reason names the broken rule."""
    assert reason in refusal_of(golden_event(kind) | change)
