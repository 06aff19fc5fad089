"""Reads exports of Zep and Graphiti: what `zepctl ... -o json` prints, or the rows of a graph.

A file is an array, JSON lines, or an object with lists of any names. Each record is told by its fields:

- a fact (an edge): `fact`, with `valid_at`, `invalid_at` and `expired_at`. It becomes a memory; one that
  ended is valid until then, which a correction states, too, so that a fact imported before ends;
- an entity (a node): `name` and `summary`. The summary becomes a document, since Zep rewrites it;
- an episode: `content` with a `source`. One with a role becomes a message, any other a document;
- a message of a thread: `content` and `role`; the session is the thread, or the name of the file.

The group of a record of Graphiti becomes its project.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from helix_cli.sources.vendors.export_file import Part, export_items, refusing
from helix_cli.sources.vendors.vendor_fields import (
    Made,
    Version,
    identity_in,
    list_in,
    record_of,
    said_digest,
    tags_of,
    text_in,
    time_in,
)
from helix_memory import limits
from helix_shared.errors import InvalidInputError
from helix_shared.sources.items import Item, SkippedPart, SourceScope, short_name

ID: Final = ("uuid", "uuid_", "id")
ROLES: Final = {
    "user": "user", "human": "user", "assistant": "assistant", "ai": "assistant", "system": "system",
    "tool": "tool", "function": "tool",
}  # fmt: skip
SOURCES: Final = ("text", "json", "message", "fact_triple")

_SPOKEN: Final = re.compile(
    r"\A\s*(?:[^\n:()]{1,64}\()?(user|human|assistant|ai|system|tool)\)?\s*:", re.IGNORECASE
)


def is_zep(value: object) -> bool:
    """Whether a value of an export has the form of Zep's or Graphiti's."""
    if not isinstance(value, dict):
        return False
    if {"fact", "source_node_uuid", "target_node_uuid"} <= value.keys():
        return True
    if not any(name in value for name in ID[:2]):
        is_thread = isinstance(value.get("messages"), list) and bool(
            {"row_count", "total_count"} & value.keys()
        )
        return is_thread or any(
            is_zep(found[0]) for found in value.values() if isinstance(found, list) and found
        )
    is_node = {"name", "summary"} <= value.keys() and bool(
        {"labels", "group_id", "attributes"} & value.keys()
    )
    is_episode = {"content", "created_at"} <= value.keys() and bool(
        {"source_description", "role_type", "processed"} & value.keys() or value.get("source") in SOURCES
    )
    return is_node or is_episode


def zep_items(path: Path, scope: SourceScope) -> Iterator[Item]:
    """The events of one export in order."""
    made = Made("zep", scope)

    def read(part: Part) -> Iterator[Item]:
        value, thread = part.value, path.stem
        lists = (
            [name for name, found in value.items() if _holds_records(found)]
            if isinstance(value, dict)
            else []
        )
        if not lists or "fact" in value or "content" in value:
            yield from refusing(part.where, _record(made, part.where, value, thread))
            return
        stated = value.get("thread_id") or value.get("session_id")
        thread = stated if isinstance(stated, str) else thread
        user = value.get("user_id")
        for name in lists:
            for where, record in part.records(name):
                yield from refusing(where, _record(made, where, record, thread, user))

    yield from export_items(path, read)


def _holds_records(found: object) -> bool:
    return isinstance(found, list) and any(isinstance(one, dict) for one in found)


def _record(made: Made, where: str, value: object, thread: str, user: object = "") -> Iterator[Item]:
    record = record_of(value)
    user = record.get("user_id") or user
    if "fact" in record:
        yield from _fact(made, where, record, user)
    elif "content" in record:
        yield from _content(made, where, record, thread, user)
    elif "summary" in record:
        yield from _node(made, where, record, user)
    elif "source_node_uuid" in record:
        yield SkippedPart("links without a fact")
    else:
        raise InvalidInputError("record", "has neither fact nor content nor summary")


def _fact(made: Made, where: str, record: Mapping[str, Any], user: object) -> Iterator[Item]:
    text = text_in(record, "fact")
    if not text.strip():
        yield SkippedPart("facts without text")
        return
    fields = {**made.scope_fields(user=user, project=record.get("group_id")), "tags": []}
    created, begins = time_in(record, "created_at"), time_in(record, "valid_at")
    ends = time_in(record, "invalid_at", "expired_at")
    valid = _valid_times(created, begins, ends)
    versions = [Version(text, created, valid)]
    if ends:
        versions.append(Version(text, created, {"valid_to": ends}))
    yield from made.versions(where, identity_in(record, *ID), versions, fields)


def _valid_times(
    created: datetime | None, begins: datetime | None, ends: datetime | None
) -> dict[str, datetime]:
    """Times of a fact. A plan for later is recalled at once, as Zep does, and happens then."""
    valid = {"valid_to": ends} if ends else {}
    if begins and created and begins > created:
        return {**valid, "event_start": begins}
    if begins and not (ends and begins > ends):
        return {**valid, "valid_from": begins}
    return valid


def _content(made: Made, where: str, record: Mapping[str, Any], thread: str, user: object) -> Iterator[Item]:
    text = text_in(record, "content")
    if not text.strip():
        yield SkippedPart("messages without text")
        return
    at = time_in(record, "valid_at", "created_at")
    project = record.get("group_id")
    if "source" in record and record["source"] != "message" and not _role(record, ""):
        document_id = f"zep:{identity_in(record, *ID)}"
        title = text_in(record, "name") or text_in(record, "source_description")
        fields = {**made.scope_fields(user=user, project=project), "title": title, "occurred_at": at}
        yield from made.document(where, document_id, text, fields)
        return
    session = text_in(record, "thread_id", "session_id") or ("" if "source" in record else thread)
    vendor_id = next((record[name] for name in ID if record.get(name)), None)
    event_id = made.event_id(vendor_id or said_digest(session, str(at), text))
    speaker = text_in(record, "name") if "source" not in record else ""
    if record.get("role_type"):
        speaker = text_in(record, "role")
    message = {
        **made.scope_fields(user=user, project=project, session=session),
        "kind": "message",
        "role": _role(record, text) or "user",
        "speaker": "" if speaker.lower() in ROLES else speaker,
        "occurred_at": at,
    }
    yield from made.memory(where, event_id, text, message)


def _role(record: Mapping[str, Any], text: str) -> str:
    """The role that a record or the beginning of its text states; empty if none does."""
    stated = record.get("role_type") or record.get("role")
    if not stated and (spoken := _SPOKEN.match(text)):
        stated = spoken[1]
    return ROLES.get(str(stated).lower(), "")


def _node(made: Made, where: str, record: Mapping[str, Any], user: object) -> Iterator[Item]:
    name, summary = text_in(record, "name"), text_in(record, "summary")
    if not summary.strip():
        yield SkippedPart("entities without a summary")
        return
    fields = {
        **made.scope_fields(user=user, project=record.get("group_id")),
        "title": name[: limits.TITLE_CHARACTERS],
        "tags": tags_of([label for label in list_in(record, "labels") if label != "Entity"]),
        "occurred_at": time_in(record, "created_at"),
        "type": "semantic",
    }
    yield from made.document(where, short_name(f"zep:{identity_in(record, *ID)}"), summary, fields)
