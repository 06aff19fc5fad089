"""Exports of Hindsight in the form in which it writes them."""

import json
import zipfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from helix_memory.events import CorrectEvent, DocumentEvent, ForgetEvent, MemoryEvent
from helix_memory.identity import memory_id

from .reading import events, items, refused, skipped, write

UNIT: dict[str, Any] = {
    "id": "5d0f8a56-0d4f-4f8b-9a51-0f3f0d3a7f10",
    "text": "Alice joined the glaciology team in Bergen.",
    "context": "career update",
    "date": "2025-04-02T00:00:00+00:00",
    "fact_type": "experience",
    "document_id": "doc-1",
    "mentioned_at": "2025-04-10T12:00:00+00:00",
    "occurred_start": "2025-04-02T00:00:00+00:00",
    "occurred_end": "2025-04-02T23:59:59.999999+00:00",
    "entities": "Alice, Bergen Institute",
    "tags": ["people"],
    "metadata": {},
    "state": "valid",
    "invalidated_at": None,
    "edited_at": None,
}


def listed(*units: dict[str, Any]) -> str:
    """The answer of `memories/list`."""
    return json.dumps({"items": units, "total": len(units), "limit": 100, "offset": 0}, indent=2)


def test_a_memory_unit_keeps_its_times_type_and_entities(tmp_path: Path) -> None:
    """Hindsight's last moment of an event is inclusive, Helix's end is not."""
    (event,) = events(write(tmp_path, "bank.json", listed(UNIT)))
    assert isinstance(event, MemoryEvent)
    assert event.event_id == f"hindsight:{UNIT['id']}"
    assert event.text == "Alice joined the glaciology team in Bergen. (career update)"
    assert (event.type, event.tags) == ("episodic", ["people", "Alice", "Bergen Institute"])
    assert event.occurred_at == datetime(2025, 4, 10, 12, tzinfo=UTC)
    assert (event.event_start, event.event_end) == (
        datetime(2025, 4, 2, tzinfo=UTC),
        datetime(2025, 4, 3, tzinfo=UTC),
    )


def test_an_edited_unit_corrects_what_an_earlier_import_brought(tmp_path: Path) -> None:
    """Its id stays the same in Hindsight."""
    (before,) = events(write(tmp_path, "a.json", listed(UNIT)))
    edited = {**UNIT, "text": "Alice leads the team.", "edited_at": "2025-05-01T00:00:00+00:00"}
    memory, correction = events(write(tmp_path, "b.json", listed(edited)))
    assert (memory.event_id, correction.text) == (before.event_id, "Alice leads the team. (career update)")
    assert isinstance(correction, CorrectEvent)
    assert correction.memory_id == memory_id("acme", before.event_id, 0)


def test_an_invalidated_unit_is_forgotten_at_that_time(tmp_path: Path) -> None:
    """It can be restored, as in Hindsight; the forget names each version."""
    invalid = {
        **UNIT,
        "state": "invalidated",
        "invalidated_at": "2025-06-01T00:00:00+00:00",
        "edited_at": "2025-05-01T00:00:00+00:00",
    }
    memory, correction, forget = events(write(tmp_path, "a.json", listed(invalid)))
    assert isinstance(forget, ForgetEvent)
    assert forget.memory_ids == [memory_id("acme", one.event_id, 0) for one in (memory, correction)]
    assert forget.occurred_at == datetime(2025, 6, 1, tzinfo=UTC)


def test_every_section_of_an_invalidated_text_is_forgotten(tmp_path: Path) -> None:
    """Each is a memory of its own, however short it is."""
    invalid = {**UNIT, "state": "invalidated", "text": "# A\nb\n" * 100}
    *_, forget = events(write(tmp_path, "a.json", listed(invalid)))
    first = events(tmp_path / "a.json")[0]
    assert memory_id("acme", first.event_id, 99) in forget.memory_ids


def test_archive_of_a_bank_brings_documents_facts_and_observations(tmp_path: Path) -> None:
    """The bank becomes the project; what Hindsight makes again is left out and counted."""
    fact = {
        "text": "Alice joined the team.",
        "source_id": None,
        "fact_type": "world",
        "context": None,
        "mentioned_at": "2025-04-10T12:00:00Z",
        "occurred_start": None,
        "occurred_end": None,
        "tags": [],
        "entities": ["Alice"],
        "chunk_index": 0,
        "causal_relations": [],
    }
    document = {
        "id": "doc/1",
        "original_text": "Alice: I joined the team.",
        "tags": ["chat"],
        "created_at": "2025-04-10T12:00:00Z",
        "chunks": [],
        "facts": [fact, {**fact, "text": 7}],
    }
    chunked = {
        "id": "doc/2",
        "original_text": None,
        "facts": [],
        "chunks": [{"chunk_index": 1, "chunk_text": "b"}, {"chunk_index": 0, "chunk_text": "a"}],
    }
    path = tmp_path / "bank.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("documents/000000.json", json.dumps(document, indent=2))
        archive.writestr("documents/000001.json", json.dumps(chunked, indent=2))
        archive.writestr(
            "observations.json", json.dumps([{"text": "Alice is a glaciologist.", "sources": []}])
        )
        archive.writestr("mental_models.json", json.dumps([{"id": "mm"}]))
        archive.writestr("manifest.json", json.dumps({"schema_version": 1, "source_bank_id": "glaciers"}))
    found = items(path)
    assert skipped(found) == ["records of mental_models.json"]
    assert refused(found) == ["000000.json:1 facts[1]: text: must be a text"]
    made = [item.event for item in found if hasattr(item, "event")]
    whole, said, second, observation = made
    assert isinstance(whole, DocumentEvent)
    assert (whole.document_id, whole.body, second.body) == (
        "hindsight:doc/1",
        "Alice: I joined the team.",
        "a\n\nb",
    )
    assert {one.project_id for one in made} == {"glaciers"}
    assert (said.type, said.tags, observation.type) == ("semantic", ["Alice"], "semantic")
    assert items(path) == found


def test_an_event_without_an_end_has_only_its_start(tmp_path: Path) -> None:
    """An end before its start is none."""
    times = {"occurred_end": (datetime(2025, 4, 2, tzinfo=UTC) - timedelta(days=1)).isoformat()}
    (event,) = events(write(tmp_path, "a.json", listed({**UNIT, **times})))
    assert (event.event_start, event.event_end) == (datetime(2025, 4, 2, tzinfo=UTC), None)


def test_an_event_without_a_moment_after_it_is_refused_alone(tmp_path: Path) -> None:
    """Its end would be the first moment after the last of all."""
    endless = {**UNIT, "occurred_end": "9999-12-31T23:59:59.999999Z"}
    found = items(write(tmp_path, "a.json", listed(endless, UNIT)))
    assert [one.split(": ", 1)[1] for one in refused(found)] == [
        "event_end: must lie in the years 1001 to 2999"
    ]
    assert len(found) == 2


def test_every_part_of_an_invalidated_text_of_several_events_is_forgotten(tmp_path: Path) -> None:
    """One event names 1,000 memories at most, so there are several; each names one that exists."""
    invalid = {**UNIT, "state": "invalidated", "text": "Ice moves. " * 25_000, "context": ""}
    found = events(write(tmp_path, "a.json", listed(invalid)))
    said = [one for one in found if isinstance(one, MemoryEvent)]
    forgets = [one for one in found if isinstance(one, ForgetEvent)]
    first_ids = [memory_id("acme", one.event_id, 0) for one in said]
    assert len(said) == 3
    assert len({one.event_id for one in forgets}) == len(forgets)
    assert set(first_ids) <= {name for one in forgets for name in one.memory_ids}
    assert all(set(one.memory_ids) & set(first_ids) for one in forgets)
