"""The file of the MCP server `server-memory` in the form in which it writes it."""

import os
from datetime import UTC, datetime
from pathlib import Path

from helix_cli.sources.documents.formats import Format
from helix_memory.events import MemoryEvent

from .reading import events, items, refused, skipped, write

ENTITY = {
    "type": "entity",
    "name": "John_Smith",
    "entityType": "person",
    "observations": ["Speaks fluent Spanish", "Prefers morning meetings"],
}
RELATION = {"type": "relation", "from": "John_Smith", "to": "Anthropic", "relationType": "works_at"}


def test_observations_and_relations_become_memories_that_name_their_entity(tmp_path: Path) -> None:
    """An observation alone does not say whom it is about. The time is that of the file."""
    path = write(tmp_path, "memory.jsonl", ENTITY, RELATION)
    os.utime(path, (1_750_000_000, 1_750_000_000))
    found = events(path)
    assert all(isinstance(event, MemoryEvent) for event in found)
    assert [event.text for event in found] == [
        "John_Smith: Speaks fluent Spanish",
        "John_Smith: Prefers morning meetings",
        "John_Smith works at Anthropic",
    ]
    assert found[0].tags == ["John_Smith", "person"]
    assert {event.occurred_at for event in found} == {datetime.fromtimestamp(1_750_000_000, UTC)}
    assert all(event.event_id.startswith("server-memory:") for event in found)


def test_a_further_observation_leaves_the_ids_of_the_others(tmp_path: Path) -> None:
    """A later import brings what is new, wherever the line stands."""
    before = events(write(tmp_path, "a.jsonl", ENTITY, RELATION))
    more = {**ENTITY, "observations": ["Has a dog", *ENTITY["observations"]]}
    after = events(write(tmp_path, "b.jsonl", RELATION, more))
    assert {event.event_id for event in before} < {event.event_id for event in after}
    assert len(after) == len(before) + 1


def test_answer_of_read_graph_is_read_too(tmp_path: Path) -> None:
    """One object with the two lists, as a client prints it."""
    entity, relation = ({k: v for k, v in line.items() if k != "type"} for line in (ENTITY, RELATION))
    graph = {"entities": [entity], "relations": [relation]}
    path = write(tmp_path, "graph.json", graph)
    lines = events(write(tmp_path, "memory.jsonl", ENTITY, RELATION))
    ids = [event.event_id for event in events(path, named=Format.SERVER_MEMORY)]
    assert ids == [event.event_id for event in lines]


def test_bad_lines_are_named_and_empty_entities_counted(tmp_path: Path) -> None:
    """A broken first line does not hide what kind of file it is."""
    empty = {**ENTITY, "name": "Nobody", "observations": []}
    path = write(
        tmp_path,
        "memory.jsonl",
        "{",
        ENTITY,
        {**ENTITY, "observations": "x"},
        {"type": "note"},
        RELATION,
        empty,
    )
    found = items(path)
    assert skipped(found) == ["entities without observations"]
    assert refused(found)[0].startswith("memory.jsonl:1: line: no JSON")
    assert refused(found)[1:] == [
        "memory.jsonl:3: observations: must be a list of texts",
        "memory.jsonl:4: type: must be entity or relation",
    ]


def test_secrets_markup_and_hostile_names_are_taken_as_text(tmp_path: Path) -> None:
    """A name with control characters is no tag, and a text may hold anything."""
    hostile = {
        **ENTITY,
        "name": "a\x07b <script>",
        "observations": ["<b>key sk-live-0123456789abcdef</b>\n\u202e"],
    }
    (event,) = events(write(tmp_path, "memory.jsonl", hostile))
    assert event.text == "a\x07b <script>: <b>key sk-live-0123456789abcdef</b>\n\u202e"
    assert event.tags == ["ab <script>", "person"]
