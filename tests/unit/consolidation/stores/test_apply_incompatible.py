"""Messages of another model or release are held, and block those after them."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import pyarrow as pa
import pytest

from helix_consolidation.stores.outcome import Outcome
from helix_memory import subjects
from helix_memory.events import ForgetEvent
from helix_shared import edges
from helix_shared.errors import IncompatibleError
from tests.unit.consolidation.conftest import (
    DIMENSIONS,
    FIRST,
    Bench,
    Stream,
    lifecycle,
    message,
    row,
)


def test_vectors_of_another_model_are_held_with_a_reason_that_names_both(
    bench: Bench, stream: Stream
) -> None:
    """No dead letter; the floor stays before the message, and stored rows stay."""
    bench.apply(stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "eight")]))
    foreign = row("acme", "e2", 2, "four", dimensions=4, model="model-b")
    outcome = bench.apply(stream.memories("acme", "e2", 2, [foreign]))
    ((_, error),) = outcome.incompatible
    assert isinstance(error, IncompatibleError)
    assert "model-a (8 dimensions)" in str(error)
    assert "model-b (4 dimensions)" in str(error)
    assert outcome == Outcome(incompatible=outcome.incompatible)
    assert bench.shard.state.applied.floor == 1
    assert set(bench.rows()) == {FIRST}


def test_messages_after_an_incompatible_one_are_blocked_and_those_before_it_applied(
    bench: Bench, stream: Stream
) -> None:
    """Events 1 and 2 are applied, 3 is incompatible, its expansions and 4 wait; lifecycle events do not."""
    bench.apply(stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "one")]))
    unfit = stream.memories("acme", "e3", 3, [row("acme", "e3", 3, "three", model="model-b")])
    questions = stream.expansions("acme", "e3", 3, ["which?"])
    later = stream.memories("acme", "e4", 4, [row("acme", "e4", 4, "four")])
    earlier = stream.memories("acme", "e2", 2, [row("acme", "e2", 2, "two")])
    forgotten = lifecycle(ForgetEvent(event_id="f", tenant_id="acme", memory_ids=[FIRST]), 5)
    outcome = bench.apply(later, questions, unfit, forgotten, earlier)
    assert [message for message, _ in outcome.incompatible] == [unfit]
    assert outcome.blocked == [questions, later]
    assert outcome.done == [earlier, forgotten]
    assert bench.shard.state.applied.floor == 2
    unfit.data = Stream().memories("acme", "e3", 3, [row("acme", "e3", 3, "three")]).data
    outcome = bench.apply(unfit, questions, later)
    assert outcome == Outcome(done=[unfit, questions, later])
    assert bench.shard.state.applied.floor == 5
    assert {r["text"]: r["expansions"] for r in bench.rows().values()}["three"] == ["which?"]


def test_an_incompatible_message_is_done_once_its_event_is_processed(bench: Bench, stream: Stream) -> None:
    """Another message of the same event fits and is applied."""
    bench.apply(stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "one")]))
    unfit = stream.memories("acme", "e2", 2, [row("acme", "e2", 2, "two", model="model-b")])
    fit = stream.memories("acme", "e2", 2, [row("acme", "e2", 2, "two")])
    assert bench.apply(unfit, fit) == Outcome(done=[fit, unfit])
    assert bench.apply(unfit) == Outcome(done=[unfit])
    assert (bench.shard.state.applied.floor, bench.shard.state.derived.floor) == (2, 3)


def test_a_message_without_rows_fits_any_model(bench: Bench, stream: Stream) -> None:
    """It contains no vector."""
    bench.apply(stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "one")]))
    origin = edges.Origin("memories", "acme", "e2", "message", 2, model="model-b@2")
    body = edges.encode(origin, [], edges.memories_schema(4))
    subject = subjects.derived_subject("memories", "acme")
    assert bench.apply(message(subjects.DERIVED_STREAM, subject, body, 2)).done
    assert bench.shard.state.applied.floor == 2


def _of_another_release() -> dict[str, tuple[str, bytes]]:
    """Edge and body of messages as an older or a newer worker would send them."""
    header = asdict(edges.Origin("memories", "acme", "e2", "message", 2)) | {"version": edges.EDGE_VERSION}
    schema = edges.memories_schema(DIMENSIONS)
    links = edges.links_schema()

    def body(schema: pa.Schema, **changes: Any) -> bytes:
        stamped = schema.with_metadata({"helix": json.dumps(header | changes)})
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, stamped) as writer:
            writer.write_batch(_empty(stamped))
        return bytes(sink.getvalue())

    return {
        "newer version": ("memories", body(schema, version=str(int(edges.EDGE_VERSION) + 1))),
        "older version": ("memories", body(schema, version=str(int(edges.EDGE_VERSION) - 1))),
        "newer origin": ("memories", body(schema, mood="good")),
        "a column more": ("memories", body(schema.append(pa.field("mood", pa.string())))),
        "a column less": ("memories", body(schema.remove(schema.get_field_index("source_class")))),
        "newer links": ("links", body(links.append(pa.field("since", pa.string())), edge="links")),
    }


def _empty(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([], field.type) for field in schema], schema=schema)


@pytest.mark.parametrize("name", _of_another_release())
def test_a_message_of_another_release_is_held(bench: Bench, name: str) -> None:
    """As in a rolling upgrade: old worker and new writer, or the reverse."""
    edge, body = _of_another_release()[name]
    subject, headers = subjects.derived_subject(edge, "acme"), {subjects.EVENT_SEQUENCE_HEADER: "2"}
    outcome = bench.apply(message(subjects.DERIVED_STREAM, subject, body, 1, headers=headers))
    ((_, error),) = outcome.incompatible
    assert "run one release everywhere" in str(error)
    assert outcome == Outcome(incompatible=outcome.incompatible)
    assert (bench.shard.state.applied.highest, bench.shard.state.derived.highest) == (0, 0)
