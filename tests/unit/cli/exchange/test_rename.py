"""The events of one tenant as those of another: ids of memories follow."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from helix_cli.exchange.erased import named_ids
from helix_cli.exchange.rename import Renaming
from helix_memory.identity import memory_id
from helix_shared.event_log.record import EventRecord
from helix_shared.identity import statement_id

AT = datetime(2026, 11, 24, tzinfo=UTC)


def event(sequence: int, kind: str, event_id: str, **fields: Any) -> EventRecord:
    """An event of acme in the log."""
    body = {"event_id": event_id, "tenant_id": "acme", "kind": kind, **fields}
    compact = json.dumps(body, separators=(",", ":")).encode()
    subject = f"helix.v1.events.acme.-.{kind}"
    return EventRecord(sequence, subject, AT, compact, f"acme:{event_id}")


def renamed(*records: EventRecord) -> tuple[list[dict[str, Any]], Renaming]:
    """The bodies under the new tenant."""
    named = set[str]().union(*(named_ids(record.body) for record in records))
    renaming = Renaming("acme", "umbrella", named)
    after = [renaming.event(record) for record in records]
    assert {record.subject.split(".")[3] for record in after} == {"umbrella"}
    assert [record.message_id for record in after] == [
        record.message_id.replace("acme:", "umbrella:") for record in records
    ]
    return [json.loads(record.body) for record in after], renaming


def test_named_memories_are_those_of_the_new_tenant() -> None:
    """Corrections, lifecycle events and feedback name the same memories as before, also pieces."""
    piece = 37
    bodies, renaming = renamed(
        event(1, "memory", "m1", text="tea"),
        event(2, "document", "d1", document_id="d", body="words " * 400),
        event(3, "correct", "c1", memory_id=memory_id("acme", "m1", 0), text="coffee"),
        event(4, "forget", "f1", memory_ids=[memory_id("acme", "d1", piece), memory_id("acme", "c1", 0)]),
        event(5, "feedback", "b1", helpful=[memory_id("acme", "m1", 0)], unhelpful=[]),
        event(6, "undo", "u1", memory_id=memory_id("acme", "m1", 0), other=memory_id("acme", "c1", 0)),
    )
    assert {body["tenant_id"] for body in bodies} == {"umbrella"}
    assert bodies[2]["memory_id"] == memory_id("umbrella", "m1", 0)
    assert bodies[3]["memory_ids"] == [memory_id("umbrella", "d1", piece), memory_id("umbrella", "c1", 0)]
    assert bodies[4]["helpful"] == [memory_id("umbrella", "m1", 0)]
    assert bodies[5]["other"] == memory_id("umbrella", "c1", 0)
    assert not renaming.unknown


def test_every_part_of_a_document_is_named_as_that_of_the_new_tenant() -> None:
    """What is forgotten stays forgotten, also the last of many short parts."""
    parts = [{"text": f"Rule {number}."} for number in range(200)]
    bodies, renaming = renamed(
        event(1, "document", "d1", document_id="d", parts=parts),
        event(2, "forget", "f1", memory_ids=[memory_id("acme", "d1", 199)]),
    )
    assert bodies[1]["memory_ids"] == [memory_id("umbrella", "d1", 199)]
    assert not renaming.unknown


def test_statement_of_a_language_model_is_named_by_its_new_source() -> None:
    """The id of a statement follows from the memory that it was drawn from."""
    bodies, _ = renamed(
        event(1, "message", "m1", role="user", text="tea"),
        event(2, "forget", "f1", memory_ids=[statement_id(memory_id("acme", "m1", 0), 5)]),
    )
    assert bodies[1]["memory_ids"] == [statement_id(memory_id("umbrella", "m1", 0), 5)]


def test_id_of_no_event_stays_and_is_told() -> None:
    """An id that names nothing names nothing afterwards."""
    bodies, renaming = renamed(event(1, "forget", "f1", memory_ids=["ab" * 16]))
    assert bodies[0]["memory_ids"] == ["ab" * 16]
    assert renaming.unknown == {"ab" * 16}


@pytest.mark.parametrize("body", [b"\xff{", b"[" * 100_000, b'{"memory_ids":' + b"[" * 5_000])
def test_body_that_is_no_event_is_kept(body: bytes) -> None:
    """What the source refused is refused again, and its bytes stay; also of one that nests too deeply."""
    broken = EventRecord(1, "helix.v1.events.acme.-.memory", AT, body, "acme:x")
    after = Renaming("acme", "umbrella", set()).event(broken)
    assert (after.body, after.message_id) == (body, "umbrella:x")
    assert named_ids(body) == set()


def test_a_list_of_ids_inside_a_list_is_kept() -> None:
    """An event has one list; what nests more is refused by the source, and again."""
    nested = b'{"memory_ids":' + b"[" * 700 + b"]" * 700 + b"}"
    broken = EventRecord(1, "helix.v1.events.acme.-.forget", AT, nested, "acme:x")
    assert Renaming("acme", "umbrella", set()).event(broken).body == nested
