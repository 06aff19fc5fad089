"""Reads JSONL: every line becomes an event or a refusal, whatever its bytes.

A line without `event_id` gets one that follows from its content, so that publishing a file twice stores
nothing twice. A line that forgets, erases or deletes gets a new id, because it must take effect again. A
line without `occurred_at` gets the current time in the zone of the machine. A time without a zone is one of
the zone that the caller names, and else refused.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, tzinfo
from typing import Any, BinaryIO, Final

import pydantic_core

from helix_cli.output.time_zone import iso_text
from helix_memory.events.private_passages import without_private
from helix_memory.machine_zone import local_now
from helix_shared.sources.lines import numbered_lines
from helix_shared.sources.source_event import Refusal, SourceEvent, from_json

LINE_BYTES: Final = 4 * 1024 * 1024
"""Limit of a line. An event may have 256 KiB; a longer line is refused without reading it into memory."""

SAID_KINDS: Final = ("message", "tool", "memory", "document")
"""Kinds whose repetition adds nothing. Every other kind takes effect again, or marks a moment."""
HIDING_KINDS: Final = ("forget", "erase", "undo")
"""Kinds that also apply to what was published since their first time."""


def read_events(
    stream: BinaryIO, name: str, *, tenant_id: str = "", zone: tzinfo | None = None
) -> Iterator[SourceEvent | Refusal]:
    """Every event of a JSONL stream; `tenant_id` is used for lines without one, `zone` for their times."""
    for where, line in numbered_lines(stream, name, line_bytes=LINE_BYTES):
        yield line if isinstance(line, Refusal) else _read_event(where, line, tenant_id, zone)


def derived_event_id(fields: dict[str, Any]) -> str:
    """Id from the content: sha256 of the canonical JSON (keys sorted, ASCII, no spaces).

    Private passages are no part of it: a short one could be found by trying ids.
    """
    if isinstance(text := fields.get("text"), str):
        fields = {**fields, "text": without_private(text)}
    canonical = json.dumps(fields, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def event_id_of_options(fields: dict[str, Any]) -> str:
    """Id of an event from options: from its content for `SAID_KINDS`, else a new one.

    A command that is typed again must take effect again, and consolidation ignores an id it has applied.
    """
    is_said = fields.get("kind") in SAID_KINDS and not fields.get("deleted")
    return derived_event_id(fields) if is_said else uuid.uuid4().hex


def event_id_of_line(fields: dict[str, Any]) -> str:
    """Id of a line of a file: from its content, or a new one for `HIDING_KINDS` and `deleted`.

    A file may be published again after a failure; its feedback and corrections must not count twice.
    """
    hides = fields.get("kind") in HIDING_KINDS or fields.get("deleted")
    return uuid.uuid4().hex if hides else derived_event_id(fields)


def _read_event(where: str, line: bytes, tenant_id: str, zone: tzinfo | None) -> SourceEvent | Refusal:
    try:
        fields = pydantic_core.from_json(line)
    except ValueError as error:
        return Refusal(where, "line", f"no JSON: {error}")
    if not isinstance(fields, dict):
        return Refusal(where, "line", "must be a JSON object")
    if tenant_id:
        fields.setdefault("tenant_id", tenant_id)
    if zone and isinstance(fields.get("occurred_at"), str):
        fields["occurred_at"] = _in_zone(fields["occurred_at"], zone)
    if not fields.get("event_id"):
        fields.pop("event_id", None)
        fields["event_id"] = event_id_of_line(fields)
    if fields.get("occurred_at") is None:
        fields["occurred_at"] = local_now().isoformat()
    return from_json(where, json.dumps(fields).encode())


def _in_zone(text: str, zone: tzinfo) -> str:
    """A time without a zone as one of `zone`; any other text as it is, which its event may refuse."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return text
    try:
        return text if moment.tzinfo else iso_text(moment.replace(tzinfo=zone))
    except OverflowError:  # its event refuses the year
        return moment.replace(tzinfo=UTC).isoformat()
