"""Exports of mem0 and OpenMemory in the form in which they write them."""

import gzip
import json
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from helix_cli.sources.discover import discover
from helix_cli.sources.documents.formats import Format
from helix_cli.sources.vendors import export_file
from helix_memory.events import CorrectEvent, ForgetEvent, MemoryEvent
from helix_memory.identity import memory_id
from helix_shared.sources.items import SourceScope

from .reading import events, items, refused, skipped, write

VEGAN: dict[str, Any] = {
    "id": "a2b8c3d4-5e6f-4a7b-8c9d-1e2f3a4b5c6d",
    "memory": "Alex prefers vegetarian restaurants",
    "user_id": "alex",
    "agent_id": "travel-agent",
    "app_id": "concierge",
    "run_id": "trip 2024/07",
    "hash": "6a1f",
    "metadata": {"category": "food", "score": 3},
    "categories": ["food_preferences"],
    "created_at": "2024-07-05T15:30:00.250000-07:00",
    "updated_at": "2024-07-05T15:30:00.900000-07:00",
    "expiration_date": "2027-01-01",
}


def test_a_memory_of_get_all_keeps_its_time_and_its_owner(tmp_path: Path) -> None:
    """User, app, run, categories and agent have their places; the id follows from mem0's."""
    path = write(tmp_path, "export.json", json.dumps({"results": [VEGAN], "total": 1}, indent=2))
    (event,) = events(path)
    assert isinstance(event, MemoryEvent)
    assert (event.event_id, event.text) == (f"mem0:{VEGAN['id']}", VEGAN["memory"])
    assert (event.tenant_id, event.user_id, event.project_id) == ("acme", "alex", "concierge")
    assert len(event.session_id) == 32
    assert event.tags == ["food_preferences", "food", "travel-agent"]
    assert event.occurred_at == datetime.fromisoformat(VEGAN["created_at"])
    assert event.expires_at == datetime(2027, 1, 1, tzinfo=UTC)


def test_array_lines_and_gzip_give_the_same_events(tmp_path: Path) -> None:
    """The shape of the file changes nothing."""
    whole = events(write(tmp_path, "a.json", {"results": [VEGAN]}))
    lines = events(write(tmp_path, "b.jsonl", VEGAN))
    packed = tmp_path / "c.json.gz"
    packed.write_bytes(gzip.compress(json.dumps([VEGAN]).encode()))
    assert whole == lines == events(packed)


def test_what_the_command_names_replaces_user_and_project(tmp_path: Path) -> None:
    """`--user` and `--project` make the memories those of one person."""
    path = write(tmp_path, "a.json", {"results": [VEGAN]})
    (event,) = events(path, scope=SourceScope("acme", user_id="ada", project_id="trips"))
    assert (event.user_id, event.project_id) == ("ada", "trips")


def test_a_text_that_changed_becomes_a_correction_of_the_first(tmp_path: Path) -> None:
    """So an export made after a change corrects what an earlier one brought."""
    before = events(write(tmp_path, "a.json", {"results": [VEGAN]}))
    later = {**VEGAN, "memory": "Alex is vegan", "updated_at": "2024-09-01T10:00:00Z"}
    after = events(write(tmp_path, "b.json", {"results": [later]}))
    assert [type(event) for event in after] == [MemoryEvent, CorrectEvent]
    assert after[0].event_id == before[0].event_id
    assert after[1].memory_id == memory_id("acme", before[0].event_id, 0)
    assert (after[1].text, after[1].user_id) == ("Alex is vegan", "alex")
    assert after[1].occurred_at == datetime(2024, 9, 1, 10, tzinfo=UTC)
    assert events(tmp_path / "b.json") == after


HISTORY = [
    {
        "id": "h1",
        "memory_id": "m1",
        "old_memory": None,
        "new_memory": "Likes pizza",
        "event": "ADD",
        "created_at": "2024-01-01T00:00:00+00:00",
        "updated_at": None,
        "is_deleted": False,
    },
    {
        "id": "h3",
        "memory_id": "m1",
        "old_memory": "Likes thin pizza",
        "new_memory": "Loves thin pizza",
        "event": "UPDATE",
        "created_at": "2024-01-01T00:00:00+00:00",
        "updated_at": "2024-03-01T00:00:00+00:00",
        "is_deleted": False,
    },
    {
        "id": "h2",
        "memory_id": "m1",
        "old_memory": "Likes pizza",
        "new_memory": "Likes thin pizza",
        "event": "UPDATE",
        "created_at": "2024-01-01T00:00:00+00:00",
        "updated_at": "2024-02-01T00:00:00+00:00",
        "is_deleted": False,
    },
]


def test_a_text_with_half_an_emoji_does_not_end_the_import(tmp_path: Path) -> None:
    """JSON may hold a lone surrogate, which UTF-8 cannot encode."""
    half = [{**one, "new_memory": f"{one['new_memory']} \ud83e"} for one in HISTORY]
    found = events(write(tmp_path, "history.json", half))
    assert [event.text for event in found] == ["Likes pizza ?", "Likes thin pizza ?", "Loves thin pizza ?"]


def test_a_history_becomes_the_chain_of_corrections(tmp_path: Path) -> None:
    """The texts come in the order of their times, whatever the order of the rows."""
    found = events(write(tmp_path, "history.json", HISTORY))
    assert [(event.kind, event.text) for event in found] == [
        ("memory", "Likes pizza"),
        ("correct", "Likes thin pizza"),
        ("correct", "Loves thin pizza"),
    ]
    assert {event.memory_id for event in found[1:]} == {memory_id("acme", "mem0:m1", 0)}
    assert len({event.event_id for event in found}) == 3
    inside = {
        "id": "m1",
        "memory": "Loves thin pizza",
        "created_at": "2024-01-01T00:00:00Z",
        "history": HISTORY,
    }
    assert events(write(tmp_path, "inside.json", [inside])) == found


def test_a_memory_that_was_deleted_is_left_out(tmp_path: Path) -> None:
    """Somebody wanted it gone."""
    gone = {
        **HISTORY[1],
        "id": "h4",
        "old_memory": "Loves thin pizza",
        "new_memory": None,
        "event": "DELETE",
        "updated_at": "2024-04-01T00:00:00+00:00",
        "is_deleted": True,
    }
    assert skipped(items(write(tmp_path, "h.json", [*HISTORY, gone]))) == [
        "memories that were deleted in mem0"
    ]


def test_a_long_text_that_changed_brings_its_last_version_only(tmp_path: Path) -> None:
    """It may become several memories, and a correction corrects one."""
    long = {**VEGAN, "memory": "Alex prefers restaurants. " * 40, "updated_at": "2024-09-01T10:00:00Z"}
    (event,) = events(write(tmp_path, "a.json", [long]))
    assert event.event_id.startswith(f"mem0:{VEGAN['id']}:")


OPENMEMORY = {
    "user": {"id": "u-1", "user_id": "ada", "name": "Ada"},
    "apps": [{"id": "app-1", "name": "cursor"}],
    "categories": [{"id": "c-1", "name": "work"}],
    "memories": [
        {
            "id": "m-1",
            "user_id": "u-1",
            "app_id": "app-1",
            "content": "Ada works at the observatory",
            "metadata": {},
            "state": "active",
            "created_at": "2025-05-01T08:00:00+00:00",
            "updated_at": "2025-05-01T08:00:00+00:00",
            "archived_at": None,
            "category_ids": ["c-1"],
        },
        {
            "id": "m-2",
            "user_id": "u-1",
            "app_id": "app-1",
            "content": "Ada has a cat",
            "metadata": {},
            "state": "archived",
            "created_at": "2025-05-01T08:00:00+00:00",
            "updated_at": "2025-05-01T08:00:00+00:00",
            "archived_at": "2025-06-01T08:00:00+00:00",
            "category_ids": [],
        },
        {
            "id": "m-3",
            "user_id": "u-1",
            "content": "gone",
            "state": "deleted",
            "category_ids": [],
            "created_at": "2025-05-01T08:00:00+00:00",
        },
    ],
    "memory_categories": [{"memory_id": "m-1", "category_id": "c-1"}],
    "status_history": [],
    "access_controls": [],
    "export_meta": {"version": "1"},
}


def test_openmemory_archive_is_read_once_with_user_app_and_state(tmp_path: Path) -> None:
    """The archive holds every memory twice; archived ones are forgotten, so they can be restored."""
    path = tmp_path / "memories_export_ada.zip"
    line = {"id": "m-1", "content": "Ada works at the observatory", "state": "active", "categories": ["work"]}
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("memories.json", json.dumps(OPENMEMORY, indent=2))
        archive.writestr("memories.jsonl.gz", gzip.compress(json.dumps(line).encode()))
    found = items(path)
    assert skipped(found) == ["memories that were deleted in mem0"]
    works, cat, forget = events(path)
    assert (works.event_id, works.user_id, works.project_id) == ("mem0:m-1", "ada", "")
    assert works.tags == ["work", "cursor"]
    assert isinstance(forget, ForgetEvent)
    assert forget.memory_ids == [memory_id("acme", cat.event_id, 0)]
    assert (forget.user_id, forget.occurred_at) == ("ada", datetime(2025, 6, 1, 8, tzinfo=UTC))


def test_relations_of_the_graph_become_memories(tmp_path: Path) -> None:
    """mem0 lists them beside the results."""
    relations = [{"source": "alex", "relationship": "lives_in", "target": "porto"}]
    _, relation = events(write(tmp_path, "a.json", {"results": [VEGAN], "relations": relations}))
    assert relation.text == "alex lives in porto"


def test_bad_records_are_named_with_file_and_line_and_the_others_are_read(tmp_path: Path) -> None:
    """A broken record takes nothing with it."""
    good, bad = json.dumps(VEGAN), json.dumps({**VEGAN, "id": "m-2", "created_at": "yesterday"})
    path = write(
        tmp_path, "a.json", '{"results": [', f"{good},", f"{bad},", '{"id": "m-4", "memory": 3},', "7]}"
    )
    found = items(path)
    assert refused(found) == [
        "a.json:3: created_at: 'yesterday' must be a time like 2026-11-01T09:30:00Z",
        "a.json:4: memory: must be a text",
        "a.json:5: record: must be a JSON object",
    ]
    lines = items(write(tmp_path, "b.jsonl", good, "{broken", json.dumps({**VEGAN, "id": "m-9"})))
    assert len(lines) == 3
    assert refused(lines)[0].startswith("b.jsonl:2: line: no JSON")


def test_a_file_that_was_cut_gives_what_is_before_the_cut(tmp_path: Path) -> None:
    """With the line at which it ends."""
    text = json.dumps({"results": [VEGAN, {**VEGAN, "id": "m-2"}]}, indent=1)
    found = items(write(tmp_path, "a.json", text[: text.index("m-2")]))
    assert len(found) == 2
    assert refused(found)[0].startswith("a.json:")
    assert refused(found)[0].endswith("what follows is not read")


def test_pages_that_were_written_one_after_another_are_all_read(tmp_path: Path) -> None:
    """`curl >> export.json` for each page; what comes behind them is refused. An empty file has nothing."""
    pages = [json.dumps({"results": [{**VEGAN, "id": f"m-{n}"}]}, indent=1) for n in range(3)]
    found = items(write(tmp_path, "a.json", *pages, "curl: (7)"))
    assert [item.event.event_id for item in found if hasattr(item, "event")] == [
        "mem0:m-0",
        "mem0:m-1",
        "mem0:m-2",
    ]
    assert refused(found) == ["a.json:70: line: no JSON: expecting '{'; what follows is not read"]
    assert items(write(tmp_path, "empty.json", ""), named=Format.MEM0) == []


def test_a_file_that_unpacks_to_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few kilobytes may unpack to gigabytes; they are not read."""
    bomb = tmp_path / "a.zip"
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("memories.json", json.dumps({**OPENMEMORY, "pad": " " * 5_000}))
    assert refused(items(bomb)) == []
    monkeypatch.setattr(export_file, "EXPORT_BYTES", 4_000)
    assert refused(items(bomb)) == ["memories.json: file: has more than 4000 bytes; export it in parts"]


def test_damaged_archives_are_refused_by_name(tmp_path: Path) -> None:
    """Neither a torn zip nor a torn gzip file ends the import."""
    torn = tmp_path / "torn.zip"
    torn.write_bytes(b"PK\x03\x04" + b"\0" * 40)
    assert "is damaged" in refused(items(torn, named=Format.MEM0))[0]
    packed = tmp_path / "torn.json.gz"
    packed.write_bytes(gzip.compress(json.dumps([VEGAN]).encode())[:60])
    assert "is damaged" in refused(items(packed, named=Format.MEM0))[0]


def test_other_json_is_no_export(tmp_path: Path) -> None:
    """Detection needs fields that only the vendor writes; `--from` reads a folder of exports."""
    plain = write(tmp_path, "package.json", {"name": "x", "results": [{"id": 1, "title": "t"}]})
    assert discover([plain]).sources[0].format is Format.TEXT
    write(tmp_path, "mem.json", [VEGAN])
    assert discover([tmp_path]).sources == []
    assert {one.path.name for one in discover([tmp_path], source_format=Format.MEM0).sources} == {
        "mem.json",
        "package.json",
    }
