"""Exports of Zep and Graphiti in the form in which they write them."""

import json
from datetime import UTC, datetime
from pathlib import Path

from helix_memory.events import CorrectEvent, DocumentEvent, MemoryEvent, MessageEvent
from helix_memory.identity import memory_id
from helix_shared.sources.items import SourceScope

from .reading import events, items, refused, skipped, write

LIVES = {
    "uuid": "e-1",
    "source_node_uuid": "n-1",
    "target_node_uuid": "n-2",
    "name": "LIVES_IN",
    "fact": "Emily lives in Porto",
    "episodes": ["ep-1"],
    "created_at": "2025-03-02T09:00:00Z",
    "valid_at": "2024-06-01T00:00:00Z",
}
ENDED = {
    **LIVES,
    "uuid": "e-2",
    "fact": "Emily lives in Madrid",
    "valid_at": "2020-01-01T00:00:00Z",
    "invalid_at": "2024-06-01T00:00:00Z",
    "expired_at": "2025-03-02T09:00:05Z",
}
NODE = {
    "uuid": "n-1",
    "name": "Emily",
    "labels": ["Entity", "Person"],
    "summary": "Emily is a potter in Porto.",
    "attributes": {},
    "created_at": "2025-03-02T09:00:00Z",
}


def test_a_fact_becomes_a_memory_that_is_valid_from_then_on(tmp_path: Path) -> None:
    """As `zepctl edge list -o json` prints it."""
    (event,) = events(write(tmp_path, "edges.json", json.dumps([LIVES], indent=2)))
    assert isinstance(event, MemoryEvent)
    assert (event.event_id, event.text) == ("zep:e-1", "Emily lives in Porto")
    assert event.valid_from == datetime(2024, 6, 1, tzinfo=UTC)
    assert (event.valid_to, event.occurred_at) == (None, datetime(2025, 3, 2, 9, tzinfo=UTC))


def test_a_fact_that_ended_is_valid_until_then_also_where_it_was_imported_before(tmp_path: Path) -> None:
    """The memory of an earlier import is corrected; a new one has its end at once."""
    open_fact = {**ENDED, "invalid_at": None, "expired_at": None}
    (before,) = events(write(tmp_path, "before.json", [open_fact]))
    memory, end = events(write(tmp_path, "after.json", [ENDED]))
    assert (before.event_id, before.valid_to) == (memory.event_id, None)
    assert memory.valid_to == datetime(2024, 6, 1, tzinfo=UTC)
    assert isinstance(end, CorrectEvent)
    assert (end.memory_id, end.valid_to) == (memory_id("acme", before.event_id, 0), memory.valid_to)
    assert end.text == memory.text


def test_a_plan_is_recalled_before_it_holds(tmp_path: Path) -> None:
    """Zep returns a fact of the future; `valid_from` would hide it."""
    (event,) = events(write(tmp_path, "a.json", [{**LIVES, "valid_at": "2026-01-01T00:00:00Z"}]))
    assert (event.valid_from, event.event_start) == (None, datetime(2026, 1, 1, tzinfo=UTC))


def test_summary_of_an_entity_is_a_document_that_replaces_itself(tmp_path: Path) -> None:
    """Zep rewrites summaries; one without text says nothing."""
    empty = {**NODE, "uuid": "n-2", "name": "Porto", "summary": ""}
    path = write(tmp_path, "nodes.json", [NODE, empty])
    (event,) = events(path)
    assert isinstance(event, DocumentEvent)
    assert (event.document_id, event.title, event.body) == ("zep:n-1", "Emily", NODE["summary"])
    assert event.tags == ["Person"]
    assert skipped(items(path)) == ["entities without a summary"]
    (later,) = events(write(tmp_path, "later.json", [{**NODE, "summary": "Emily left Porto."}]))
    assert (later.document_id == event.document_id, later.event_id == event.event_id) == (True, False)


def test_messages_of_a_thread_keep_speaker_and_session(tmp_path: Path) -> None:
    """As `zepctl thread get THREAD -o json` prints them; the thread is the name of the file."""
    thread = {
        "messages": [
            {
                "uuid": "m-1",
                "role": "user",
                "name": "Emily",
                "content": "I moved to Porto.",
                "created_at": "2025-03-02T09:00:00Z",
                "processed": True,
            },
            {"uuid": "m-2", "role": "assistant", "content": "Welcome!", "created_at": "2025-03-02T09:00:01Z"},
            {"role_type": "user", "role": "Emily", "content": "Thanks", "created_at": "2025-03-02T09:00:02Z"},
        ],
        "row_count": 3,
        "total_count": 3,
        "user_id": "emily",
    }
    found = events(write(tmp_path, "thread-7.json", json.dumps(thread, indent=2)))
    assert all(isinstance(event, MessageEvent) for event in found)
    assert [(event.role, event.speaker) for event in found] == [
        ("user", "Emily"),
        ("assistant", ""),
        ("user", "Emily"),
    ]
    assert {(event.session_id, event.user_id) for event in found} == {("thread-7", "emily")}
    assert found[0].event_id == "zep:m-1"


def test_a_graph_of_graphiti_is_read_list_by_list(tmp_path: Path) -> None:
    """The names of the lists do not matter; the group becomes the project."""
    graph = {
        "episodes": [
            {
                "uuid": "ep-1",
                "name": "chat",
                "group_id": "clay",
                "source": "message",
                "content": "Emily(user): Hi",
                "source_description": "chat",
                "created_at": "2025-03-02T09:00:00Z",
                "valid_at": "2025-03-01T09:00:00Z",
                "entity_edges": ["e-1"],
            },
            {
                "uuid": "ep-2",
                "name": "Kiln manual",
                "group_id": "clay",
                "source": "text",
                "content": "Heat slowly.",
                "source_description": "manual",
                "created_at": "2025-03-02T09:00:00Z",
            },
        ],
        "entity_nodes": [{**NODE, "group_id": "clay"}],
        "entity_edges": [{**LIVES, "group_id": "clay"}],
        "episodic_edges": [
            {"uuid": "x", "source_node_uuid": "ep-1", "target_node_uuid": "n-1", "group_id": "clay"}
        ],
    }
    path = write(tmp_path, "graph.json", graph)
    message, manual, node, fact = events(path)
    assert [one.kind for one in (message, manual, node, fact)] == [
        "message",
        "document",
        "document",
        "memory",
    ]
    assert {one.project_id for one in (message, manual, node, fact)} == {"clay"}
    assert message.occurred_at == datetime(2025, 3, 1, 9, tzinfo=UTC)
    assert (manual.document_id, manual.title) == ("zep:ep-2", "Kiln manual")
    assert skipped(items(path)) == ["links without a fact"]
    assert {one.project_id for one in events(path, scope=SourceScope("acme", project_id="pots"))} == {"pots"}


def test_a_record_without_id_or_sense_is_refused_with_its_line(tmp_path: Path) -> None:
    """The others are read."""
    nameless = {key: value for key, value in LIVES.items() if key != "uuid"}
    found = items(write(tmp_path, "a.jsonl", LIVES, nameless, {"uuid": "?"}, LIVES))
    assert refused(found) == [
        "a.jsonl:2: uuid: is missing",
        "a.jsonl:3: record: has neither fact nor content nor summary",
    ]
    assert len(found) == 4


def test_a_long_fact_that_ended_keeps_its_beginning(tmp_path: Path) -> None:
    """Of a text of several memories only the last version is taken, with what was said of the first."""
    fact = "Emily lives in Madrid, as she said. " * 20
    (event,) = events(write(tmp_path, "a.json", [{**ENDED, "fact": fact}]))
    assert (event.valid_from, event.valid_to) == (
        datetime(2020, 1, 1, tzinfo=UTC),
        datetime(2024, 6, 1, tzinfo=UTC),
    )
