"""Reads exports of mem0 and OpenMemory.

- The answer of `get_all` or of an export: `{"results": [...]}`, an array, or JSON lines; a record has `id`
  and `memory`, and `user_id`, `agent_id`, `app_id`, `run_id`, `categories`, `created_at`, `updated_at`,
  `expiration_date`. `relations` between entities may stand beside `results`.
- The answer of `history`: rows with `memory_id`, `old_memory`, `new_memory` and `event`, alone or as the
  `history` of a record: the first text becomes the memory, each later one a correction of it.
- The zip archive of OpenMemory: `memories.json` with `memories`, `categories`, `apps` and `user`, and beside
  it `memories.jsonl.gz`, which says less and is read only where it is alone.

A memory that OpenMemory paused or archived is imported and forgotten, so `helix memory restore` shows it. One
that was deleted is left out. Of the metadata of a record only the categories have a place in an event.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

from helix_cli.sources.vendors.export_file import Part, export_items, names_in_archive, refusing
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
from helix_shared.errors import InvalidInputError
from helix_shared.sources.items import Item, SkippedPart, SourceScope

WHOLE: Final = "memories.json"
BY_LINE: Final = "memories.jsonl.gz"
LISTS: Final = ("results", "memories")
HIDDEN: Final = ("paused", "archived")
SAME: Final = timedelta(seconds=1)
"""mem0 writes both times of a new memory one after the other."""
_TAGS_IN_METADATA: Final = ("category", "categories", "tags")


def is_mem0(value: object) -> bool:
    """Whether a value of an export has the form of mem0's or OpenMemory's."""
    if not isinstance(value, dict):
        return False
    for name in LISTS:
        if isinstance(found := value.get(name), list):
            return any(map(is_mem0, found[:1]))
    if {"id", "memory"} <= value.keys() or {"memory_id", "new_memory"} <= value.keys():
        return True
    return {"id", "content", "state"} <= value.keys() and bool({"categories", "category_ids"} & value.keys())


def is_mem0_archive(names: Sequence[str]) -> bool:
    """Whether an archive has the files of OpenMemory."""
    return any(name.rsplit("/", 1)[-1] in (WHOLE, BY_LINE) for name in names)


def mem0_items(path: Path, scope: SourceScope) -> Iterator[Item]:
    """The events of one export."""
    made = Made("mem0", scope)
    has_whole = any(name.rsplit("/", 1)[-1] == WHOLE for name in names_in_archive(path))
    rows: dict[str, list[tuple[str, Mapping[str, Any]]]] = {}

    def read(part: Part) -> Iterator[Item]:
        if has_whole and part.file.endswith(BY_LINE):
            return
        if isinstance(part.value, dict) and {"memory_id", "new_memory"} <= part.value.keys():
            rows.setdefault(str(part.value["memory_id"]), []).append((part.where, part.value))
            return
        beside = _Beside(part)
        listed = [name for name in LISTS if isinstance(part.value, dict) and name in part.value]
        records = (
            [one for name in listed for one in part.records(name)] if listed else [(part.where, part.value)]
        )
        for where, record in records:
            yield from refusing(where, _memory(made, where, record, beside))
        for where, record in part.records("relations"):
            yield from refusing(where, _relation(made, where, record))

    yield from export_items(path, read)
    for memory_id, found in rows.items():
        where, first = found[0]
        record = {**first, "id": memory_id, "history": [row for _, row in found]}
        yield from refusing(where, _memory(made, where, record, _Beside()))


class _Beside:
    """What an export of OpenMemory keeps beside its memories: the user, names of categories and apps."""

    def __init__(self, part: Part | None = None) -> None:
        value = part.value if part is not None and isinstance(part.value, dict) else {}
        user = value.get("user")
        self.user = user.get("user_id", "") if isinstance(user, dict) else ""
        named = [one for kind in ("categories", "apps") for one in list_in(value, kind)]
        self._names = {str(one.get("id")): one.get("name") for one in named if isinstance(one, dict)}

    def tags(self, record: Mapping[str, Any]) -> list[str]:
        """Categories, agent and app of a record."""
        metadata = record.get("metadata")
        stated = metadata if isinstance(metadata, dict) else {}
        return tags_of(
            record.get("categories"),
            [self._names.get(str(one)) for one in list_in(record, "category_ids")],
            *(stated.get(name) for name in _TAGS_IN_METADATA),
            record.get("agent_id"),
            record.get("app") or self._names.get(str(record.get("app_id"))),
        )


def _memory(made: Made, where: str, value: object, beside: _Beside) -> Iterator[Item]:
    record = record_of(value)
    vendor_id, state = identity_in(record, "id"), record.get("state")
    versions, is_deleted = _versions(record)
    if state == "deleted" or is_deleted:
        yield SkippedPart("memories that were deleted in mem0")
        return
    if not versions:
        yield SkippedPart("memories without text")
        return
    app = record.get("app_id")
    fields = {
        **made.scope_fields(
            # the memories of an OpenMemory export carry the key of its table in place of the user's name
            user=beside.user or record.get("user_id"),
            project="" if beside.user else app,
            session=record.get("run_id"),
        ),
        "tags": beside.tags(record),
    }
    items = list(made.versions(where, vendor_id, versions, fields))
    yield from items
    if state in HIDDEN:
        at = time_in(record, "archived_at", "updated_at", "created_at")
        yield from made.hidden(where, vendor_id, items, at, fields)


def _versions(record: Mapping[str, Any]) -> tuple[list[Version], bool]:
    """The texts that a memory had, oldest first, and whether it was deleted at last."""
    ends = time_in(record, "expiration_date")
    fields = {"expires_at": ends} if ends else {}
    rows = [record_of(row) for row in list_in(record, "history")]
    versions, is_deleted = _of_history(rows, fields)
    text, created = text_in(record, "memory", "content", "data"), time_in(record, "created_at")
    updated = time_in(record, "updated_at")
    if not text.strip():
        return versions, is_deleted
    if not versions:
        versions = [Version(text, created, fields)]
        if created and updated and updated - created > SAME:
            versions.append(Version(text, updated, fields))
    elif versions[-1].text != text:
        versions.append(Version(text, updated or created, fields))
    return versions, is_deleted


def _of_history(rows: Sequence[Mapping[str, Any]], fields: Mapping[str, Any]) -> tuple[list[Version], bool]:
    dated = [(time_in(row, "updated_at", "created_at"), row) for row in rows]
    if all(at for at, _ in dated):
        dated.sort(key=_at)
    texts = [Version(text, at, fields) for at, row in dated if (text := text_in(row, "new_memory")).strip()]
    last = dated[-1][1] if dated else {}
    return texts, last.get("event") == "DELETE" or bool(last.get("is_deleted"))


def _at(dated: tuple[datetime | None, Mapping[str, Any]]) -> float:
    return dated[0].timestamp() if dated[0] else 0.0


def _relation(made: Made, where: str, value: object) -> Iterator[Item]:
    record = record_of(value)
    parts = [
        text_in(record, *names)
        for names in (("source",), ("relationship", "relation"), ("target", "destination"))
    ]
    if not all(part.strip() for part in parts):
        raise InvalidInputError("relations", "must name source, relationship and target")
    subject, verb, target = parts
    user = record.get("user_id")
    event_id = made.event_id(said_digest("relation", subject, verb, target, str(user or "")))
    text = f"{subject} {verb.replace('_', ' ').lower()} {target}"
    yield from made.memory(
        where, event_id, text, {**made.scope_fields(user=user), "tags": tags_of(subject, target)}
    )
