"""Reads exports of Hindsight.

- The answer of `memories/list`: `{"items": [...]}`, an array, or JSON lines. A memory unit has `id`, `text`,
  `fact_type` (world, experience, observation), `context`, `mentioned_at`, `occurred_start`, `occurred_end`,
  `entities`, `tags` and `state`. A unit that was edited is corrected; one that is invalidated is imported and
  forgotten, so `helix memory restore` shows it.
- The zip archive of a bank or of documents: `manifest.json`, `documents/*.json` with the text of a document
  and its facts, and `observations.json`. The bank becomes the project. What Hindsight makes of its facts
  (mental models, knowledge pages) and its settings are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from helix_cli.sources.vendors.export_file import Part, export_items, json_in_archive, refusing
from helix_cli.sources.vendors.vendor_fields import (
    Made,
    Version,
    identity_in,
    later_by,
    list_in,
    record_of,
    said_digest,
    tags_of,
    text_in,
    time_in,
    with_context,
)
from helix_memory import identity
from helix_shared.errors import InvalidInputError
from helix_shared.sources.items import Item, SkippedPart, SourceScope

MANIFEST: Final = "manifest.json"
OBSERVATIONS: Final = "observations.json"
DOCUMENTS: Final = "documents/"
TYPES: Final = {"experience": "episodic", "bank": "episodic", "world": "semantic", "observation": "semantic"}
TIMES: Final = ("mentioned_at", "event_date", "date", "created_at", "occurred_start")

_TICK: Final = timedelta(microseconds=1)


def is_hindsight(value: object) -> bool:
    """Whether a value of an export has the form of Hindsight's."""
    if not isinstance(value, dict):
        return False
    if isinstance(items := value.get("items"), list):
        return any(map(is_hindsight, items[:1]))
    return {"text", "fact_type"} <= value.keys() or {"source_bank_id", "schema_version"} <= value.keys()


def is_hindsight_archive(names: Sequence[str]) -> bool:
    """Whether an archive has the files of a transfer archive."""
    return MANIFEST in names and any(name.startswith(DOCUMENTS) for name in names)


def hindsight_items(path: Path, scope: SourceScope) -> Iterator[Item]:
    """The events of one export in order."""
    made = Made("hindsight", scope)
    bank = _bank(path)

    def read(part: Part) -> Iterator[Item]:
        if part.file.startswith(DOCUMENTS) or (not part.file and _is_document(part.value)):
            yield from refusing(part.where, _document(made, part.where, part.value, bank))
        elif part.file and part.file != OBSERVATIONS:
            if part.file != MANIFEST:
                yield SkippedPart(f"records of {part.file}")
        elif isinstance(part.value, dict) and isinstance(part.value.get("items"), list):
            for where, unit in part.records("items"):
                yield from refusing(where, _unit(made, where, unit, bank))
        else:
            yield from refusing(part.where, _unit(made, part.where, part.value, bank))

    yield from export_items(path, read)


def _bank(path: Path) -> str:
    """The bank that the manifest of an archive names; empty if it is no archive."""
    manifest = json_in_archive(path, MANIFEST)
    bank = manifest.get("source_bank_id") if isinstance(manifest, dict) else ""
    return bank if isinstance(bank, str) else ""


def _is_document(value: object) -> bool:
    return isinstance(value, dict) and isinstance(value.get("facts"), list)


def _unit(made: Made, where: str, value: object, bank: str, *, fallback_id: str = "") -> Iterator[Item]:
    unit = record_of(value)
    said = text_in(unit, "text")
    if not said.strip():
        yield SkippedPart("memories without text")
        return
    text = with_context(said, text_in(unit, "context") if unit.get("context") != "N/A" else "")
    vendor_id = fallback_id or _id(unit, said)
    fields = {
        **made.scope_fields(project=bank),
        "type": TYPES.get(str(unit.get("fact_type") or "observation")),
        "tags": tags_of(unit.get("tags"), _entities(unit)),
        **_happened(unit),
    }
    versions = [Version(text, time_in(unit, *TIMES), {})]
    if edited := time_in(unit, "edited_at"):
        versions.append(Version(text, edited, {}))
    items = list(made.versions(where, vendor_id, versions, fields))
    yield from items
    if unit.get("state") == "invalidated":
        yield from made.hidden(where, vendor_id, items, time_in(unit, "invalidated_at", *TIMES), fields)


def _id(unit: Mapping[str, Any], text: str) -> str:
    """The id of a unit; of one without it a hash of what it says, which an archive leaves out in places."""
    try:
        return identity_in(unit, "id", "source_id")
    except InvalidInputError:
        return said_digest("unit", text, str(unit.get("mentioned_at") or unit.get("occurred_start") or ""))


def _entities(unit: Mapping[str, Any]) -> list[str]:
    """Names of a unit: a list, or one text with commas."""
    found = unit.get("entities")
    if isinstance(found, str):
        return [name for name in found.split(", ") if name and name != "None"]
    return [name for name in found if isinstance(name, str)] if isinstance(found, list) else []


def _happened(unit: Mapping[str, Any]) -> dict[str, Any]:
    """Start and end of the described event. Hindsight states its last moment, Helix the first after it."""
    start, end = time_in(unit, "occurred_start"), time_in(unit, "occurred_end")
    if start is None:
        return {}
    return {"event_start": start} | ({"event_end": later_by(end, _TICK)} if end and end >= start else {})


def _document(made: Made, where: str, value: object, bank: str) -> Iterator[Item]:
    document = record_of(value)
    document_id = identity_in(document, "id")
    text = text_in(document, "original_text") or _of_chunks(list_in(document, "chunks"))
    fields = {
        **made.scope_fields(project=bank),
        "title": document_id,
        "tags": tags_of(document.get("tags")),
        "occurred_at": time_in(document, "created_at"),
    }
    yield from made.document(where, f"hindsight:{document_id}", text, fields)
    for number, fact in enumerate(list_in(document, "facts")):
        fallback = "" if _has_id(fact) else identity.digest("fact", bank, document_id, str(number))
        yield from refusing(
            f"{where} facts[{number}]",
            _unit(made, where, fact, bank, fallback_id=fallback),
        )


def _has_id(fact: object) -> bool:
    return isinstance(fact, dict) and bool(fact.get("id") or fact.get("source_id"))


def _of_chunks(chunks: Sequence[object]) -> str:
    found = [one for one in chunks if isinstance(one, dict)]
    found.sort(key=_chunk_index)
    return "\n\n".join(text_in(one, "chunk_text") for one in found)


def _chunk_index(chunk: Mapping[str, Any]) -> int:
    found = chunk.get("chunk_index")
    return found if isinstance(found, int) else 0
