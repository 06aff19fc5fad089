"""Messages of another model or release are held, and block those after them."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import pyarrow as pa
import pytest

from helix_consolidation.stores.outcome import Outcome
from helix_memory import subjects
from helix_memory.events import (
    ForgetEvent,
)
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


def test_vectors_of_another_model_wait_and_name_both_models(bench: Bench, stream: Stream) -> None:
    """They are no dead letter, the floor stays before them, and what was there stays."""
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


def test_what_follows_a_message_that_does_not_fit_waits_and_what_precedes_it_is_applied(
    bench: Bench, stream: Stream
) -> None:
    """Events 1 and 2 are applied, 3 does not fit, 4 and the questions of 3 wait; lifecycle events do not."""
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


def test_a_message_that_does_not_fit_is_done_with_once_its_event_is_answered(
    bench: Bench, stream: Stream
) -> None:
    """Another answer to the same event fits: it is applied, and nothing stays behind."""
    bench.apply(stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "one")]))
    unfit = stream.memories("acme", "e2", 2, [row("acme", "e2", 2, "two", model="model-b")])
    fit = stream.memories("acme", "e2", 2, [row("acme", "e2", 2, "two")])
    assert bench.apply(unfit, fit) == Outcome(done=[fit, unfit])
    assert bench.apply(unfit) == Outcome(done=[unfit])
    assert (bench.shard.state.applied.floor, bench.shard.state.derived.floor) == (2, 3)


def test_an_answer_without_rows_fits_whatever_model_its_worker_has(bench: Bench, stream: Stream) -> None:
    """There is no vector in it."""
    bench.apply(stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "one")]))
    origin = edges.Origin("memories", "acme", "e2", "message", 2, model="model-b@2")
    body = edges.encode(origin, [], edges.memories_schema(4))
    subject = subjects.derived_subject("memories", "acme")
    assert bench.apply(message(subjects.DERIVED_STREAM, subject, body, 2)).done
    assert bench.shard.state.applied.floor == 2


def _of_another_release() -> dict[str, tuple[str, bytes]]:
    """Edge and body of messages as an older or a newer worker would make them."""
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
def test_a_message_of_another_release_waits(bench: Bench, name: str) -> None:
    """A rolling upgrade: old worker and new writer, or the reverse."""
    edge, body = _of_another_release()[name]
    subject, headers = subjects.derived_subject(edge, "acme"), {subjects.EVENT_SEQUENCE_HEADER: "2"}
    outcome = bench.apply(message(subjects.DERIVED_STREAM, subject, body, 1, headers=headers))
    ((_, error),) = outcome.incompatible
    assert "run one release everywhere" in str(error)
    assert outcome == Outcome(incompatible=outcome.incompatible)
    assert (bench.shard.state.applied.highest, bench.shard.state.derived.highest) == (0, 0)
