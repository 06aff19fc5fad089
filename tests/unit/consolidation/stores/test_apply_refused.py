"""Messages that can never be applied become dead letters."""

from __future__ import annotations

from typing import Any

import pytest

from helix_memory import subjects
from helix_memory.events import ForgetEvent, MemoryEvent, encode_event, subject_of
from helix_shared import edges
from tests.unit.consolidation.conftest import (
    FIRST,
    Bench,
    Stream,
    message,
    row,
)


def test_one_bad_message_does_not_affect_others(bench: Bench, stream: Stream) -> None:
    """The undecodable one is a dead letter and counts as processed; the other one is applied."""
    subject = subjects.derived_subject("memories", "acme")
    bad = message("HELIX_DERIVED", subject, b"?", 1, headers={subjects.EVENT_SEQUENCE_HEADER: "1"})
    stream.last = 1
    outcome = bench.apply(bad, stream.memories("acme", "e2", 2, [row("acme", "e2", 2, "good")]))
    assert (len(outcome.done), len(outcome.dead)) == (1, 1)
    assert bench.shard.state.applied.floor == 2
    assert bench.shard.state.derived.floor == 2


@pytest.mark.parametrize("damage", [(b"good words", b"go\xd2d words"), (b"token_count", b"token\x9ccount")])
@pytest.mark.parametrize("edge", ["memories", "expansions"])
def test_a_body_with_damaged_bytes_is_refused(
    bench: Bench, stream: Stream, edge: str, damage: tuple[bytes, bytes]
) -> None:
    """Arrow finds that where a value is read, or ends the process; the writer ended, again and again."""
    good = stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "good words")])
    if edge == "expansions":
        bench.apply(good)
        good = stream.expansions("acme", "e1", 1, ["good words"])
        damage = (b"expansions", b"exp\xffnsions") if b"token_count" in damage else damage
    parts = good.data.split(damage[0])
    good.data = damage[1].join(parts)
    assert len(parts) > 1
    outcome = bench.apply(good)
    assert "no Arrow batch" in str(outcome.dead[0][1])
    assert bench.apply(stream.memories("acme", "e2", 2, [row("acme", "e2", 2, "two")])).done


@pytest.mark.parametrize("model", ["model-a", "model-b"])
def test_a_refused_message_that_is_applied_later_is_processed_after_a_restart(
    bench: Bench, stream: Stream, model: str
) -> None:
    """Its dead letter was not stored; it was delivered again, and applied or no longer needed."""
    subject, headers = subjects.derived_subject("memories", "acme"), {subjects.EVENT_SEQUENCE_HEADER: "1"}
    refused = message("HELIX_DERIVED", subject, b"?", 1, headers=headers)
    stream.last = 1
    bench.apply(refused, stream.memories("acme", "e2", 2, [row("acme", "e2", 2, "two")]))
    assert bench.shard.state.unstored_dead_letters == {1}
    body = Stream().memories("acme", "e1", 1, [row("acme", "e1", 1, "one", model=model)]).data
    again = message("HELIX_DERIVED", subject, body, 1, headers=headers)
    assert bench.apply(again).done == [again]
    bench.publish()
    assert bench.reopened().shard.state.derived.floor == 2


def test_a_message_with_rows_of_another_tenant_is_refused(bench: Bench, stream: Stream) -> None:
    """The tenant of every row is the tenant of the subject."""
    outcome = bench.apply(stream.memories("acme", "e1", 1, [row("other", "e1", 1, "smuggled")]))
    assert "another tenant" in str(outcome.dead[0][1])
    assert bench.rows() == {}


@pytest.mark.parametrize(
    "broken", [{"edge": "LIKES"}, {"weight": 0.0}, {"weight": float("nan")}, {"weight": -1.0}]
)
def test_a_link_the_graph_cannot_hold_is_dead_lettered(
    bench: Bench, stream: Stream, broken: dict[str, Any]
) -> None:
    """One bad message must not end the writer again and again."""
    bench.apply(stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "one")]))
    link = {
        "memory_id": FIRST,
        "edge": "MENTIONS",
        "kind": "name",
        "name": "x",
        "surface": "X",
        "weight": 1.0,
    }
    poison = stream._send("links", "acme", "e1", 1, [link | broken], edges.links_schema(), "")
    assert [m for m, _ in bench.apply(poison).dead] == [poison]


@pytest.mark.parametrize(
    "broken",
    [
        {"content_hash": "zz"}, {"type": "bogus"}, {"salience": float("nan")}, {"priority": float("inf")},
        {"piece": -1}, {"occurred_at": 2**62}, {"revision_sequence": 7}, {"stream_sequence": 2**63},
    ],
)  # fmt: skip
def test_a_row_no_store_could_hold_is_dead_lettered(
    bench: Bench, stream: Stream, broken: dict[str, Any]
) -> None:
    """The message is refused as a whole, and the writer continues."""
    poison = stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "one") | broken])
    assert [m for m, _ in bench.apply(poison).dead] == [poison]
    assert bench.rows() == {}


def test_a_message_for_an_event_after_the_end_of_the_log_is_refused(bench: Bench, stream: Stream) -> None:
    """A forged sequence must not change the floor of applied events."""
    forged = stream.memories("acme", "e1", 1_000, [row("acme", "e1", 1_000, "one")])
    subject = subjects.derived_subject("memories", "acme")
    headers = {subjects.EVENT_SEQUENCE_HEADER: "1000"}
    rubbish = message(subjects.DERIVED_STREAM, subject, b"rubbish", 2, headers=headers)
    outcome = bench.apply(forged, rubbish, log_end=1)
    assert [m.data for m, _ in outcome.dead] == [forged.data, rubbish.data]
    assert bench.shard.state.applied.highest == 0


@pytest.mark.parametrize("body", [b"{", b'{"kind":"forget","event_id":"f","tenant_id":"acme"}'])
def test_an_invalid_lifecycle_event_is_a_dead_letter(bench: Bench, body: bytes) -> None:
    """The event counts as processed."""
    outcome = bench.apply(message("HELIX_EVENTS", "helix.v1.events.acme.-.forget", body, 1))
    assert len(outcome.dead) == 1
    assert bench.shard.state.applied.floor == 1


def test_an_event_of_another_tenant_than_its_subject_is_a_dead_letter(bench: Bench) -> None:
    """Body and subject must name the same tenant."""
    event = ForgetEvent(event_id="f", tenant_id="victim", of_user="ann")
    sent = message("HELIX_EVENTS", "helix.v1.events.acme.-.forget", encode_event(event), 1)
    assert len(bench.apply(sent).dead) == 1
    assert bench.shard.state.tombstones.forgotten == {}


def test_an_event_of_another_kind_is_a_dead_letter(bench: Bench) -> None:
    """Only forget, erase and feedback are lifecycle events."""
    event = MemoryEvent(event_id="m", tenant_id="acme", text="hello")
    sent = message("HELIX_EVENTS", subject_of(event), encode_event(event), 1)
    assert len(bench.apply(sent).dead) == 1
