"""Reads the file of `@modelcontextprotocol/server-memory`: `memory.jsonl`.

A line is an entity `{"type": "entity", "name", "entityType", "observations": [...]}` or a relation
`{"type": "relation", "from", "to", "relationType"}`. Each observation and each relation becomes a memory that
names its entity. The file has neither ids nor times: an id follows from what the line says, and the time is
that of the file, when all of it was known.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from helix_cli.sources.vendors.export_file import Part, export_items, refusing
from helix_cli.sources.vendors.vendor_fields import Made, record_of, said_digest, tags_of, text_in
from helix_shared.errors import InvalidInputError
from helix_shared.sources.items import Item, SkippedPart, SourceScope

ENTITY: Final = ("name", "entityType", "observations")
RELATION: Final = ("from", "to", "relationType")


def is_server_memory(value: object) -> bool:
    """Whether a value has the form of a line."""
    if not isinstance(value, dict):
        return False
    needed = {"entity": ENTITY, "relation": RELATION}.get(str(value.get("type")))
    return needed is not None and all(name in value for name in needed)


def server_memory_items(path: Path, scope: SourceScope) -> Iterator[Item]:
    """The events of one file in order."""
    made = Made("server-memory", scope)
    written = datetime.fromtimestamp(int(path.stat().st_mtime), UTC)
    fields = {**made.scope_fields(), "occurred_at": written}

    def read(part: Part) -> Iterator[Item]:
        # a client's answer to `read_graph` is one object with two lists
        if isinstance(part.value, dict) and isinstance(part.value.get("entities"), list):
            lines = [(*one, "entity") for one in part.records("entities")]
            lines += [(*one, "relation") for one in part.records("relations")]
        else:
            kind = part.value.get("type") if isinstance(part.value, dict) else None
            lines = [(part.where, part.value, str(kind))]
        for where, value, kind in lines:
            yield from refusing(where, _items(where, value, kind))

    def _items(where: str, value: object, kind: str) -> Iterator[Item]:
        line = record_of(value)
        match kind:
            case "entity":
                yield from _observations(made, where, line, fields)
            case "relation":
                yield from _relation(made, where, line, fields)
            case _:
                raise InvalidInputError("type", "must be entity or relation")

    yield from export_items(path, read)


def _observations(made: Made, where: str, line: dict[str, Any], fields: dict[str, Any]) -> Iterator[Item]:
    name, kind = _needed(line, "name"), text_in(line, "entityType")
    observations = line.get("observations")
    if not isinstance(observations, list):
        raise InvalidInputError("observations", "must be a list of texts")
    if not observations:
        yield SkippedPart("entities without observations")
    for said in observations:
        # older versions kept an observation as an object
        text = text_in(said, "content", "text") if isinstance(said, dict) else said
        if not isinstance(text, str):
            raise InvalidInputError("observations", "must be a list of texts")
        if not text.strip():
            yield SkippedPart("observations without text")
            continue
        event_id = made.event_id(said_digest("observation", name, text))
        yield from made.memory(where, event_id, f"{name}: {text}", {**fields, "tags": tags_of(name, kind)})


def _relation(made: Made, where: str, line: dict[str, Any], fields: dict[str, Any]) -> Iterator[Item]:
    subject, verb, target = (_needed(line, name) for name in ("from", "relationType", "to"))
    event_id = made.event_id(said_digest("relation", subject, verb, target))
    text = f"{subject} {verb.replace('_', ' ')} {target}"
    yield from made.memory(where, event_id, text, {**fields, "tags": tags_of(subject, target)})


def _needed(line: dict[str, Any], name: str) -> str:
    found = text_in(line, name)
    if not found.strip():
        raise InvalidInputError(name, "is missing")
    return found
