from __future__ import annotations

import json
from dataclasses import asdict
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest

from helix_cli.output.graph_export import to_networkx
from helix_consolidation.stores.shard import Outcome
from helix_memory import subjects
from helix_memory.events import (
    EraseEvent,
    FeedbackEvent,
    ForgetEvent,
    MemoryEvent,
    encode_event,
    subject_of,
)
from helix_shared import edges
from helix_shared.artifacts.filter.selection import Selection
from helix_shared.artifacts.generation.reader import Generation
from helix_shared.errors import IncompatibleError, PermanentError
from helix_shared.identity import memory_id

from .conftest import DIMENSIONS, NOON, NOW, Bench, Stream, lifecycle, message, row

FIRST = memory_id("acme", "e1", 0)
SECOND = memory_id("acme", "e2", 0)


def found(bench: Bench, query: str, tenant: str = "acme") -> list[str]:
    """Memory ids the published lexicon finds, best first."""
    manifest = bench.publish()
    generation = Generation.open(bench.folder, manifest.generation)
    hits = generation.lexicon.search(query, Selection(tenant_id=tenant), limit=10)
    ids = generation.vectors.take(hits.ordinals, ["memory_id"])["memory_id"].to_pylist()
    generation.close()
    return ids


def test_a_memory_with_its_enrichment_is_one_row(bench: Bench, stream: Stream) -> None:
    """Memory, expansions and links of one event end in one record, found by any of their words."""
    bench.apply(
        stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "The staging host is heron", user_id="ann")]),
        stream.expansions("acme", "e1", 1, ["which machine runs the rehearsal?"]),
        stream.links("acme", "e1", 1, ["Heron"]),
    )
    stored = bench.rows()[FIRST]
    assert (stored["owner"], stored["audience"]) == ("ann", ["*"])
    assert stored["event_at"] == NOON + timedelta(seconds=1)
    assert stored["expansions"] == ["which machine runs the rehearsal?"]
    manifest = bench.publish()
    assert (manifest.counts.memories, manifest.counts.entities, manifest.counts.edges) == (1, 1, 2)
    assert (manifest.applied_sequence, manifest.derived_sequence) == (1, 3)


def test_the_same_message_again_changes_nothing(bench: Bench, stream: Stream) -> None:
    """Redelivery is invisible: the same rows, none twice."""
    sent = stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "once")])
    bench.apply(sent)
    before = bench.rows()
    outcome = bench.apply(sent, sent)
    assert len(outcome.done) == 2
    assert bench.rows() == before


def test_an_event_published_again_later_keeps_its_first_row(bench: Bench, stream: Stream) -> None:
    """The whole second message is dropped, pieces the first did not have included."""
    bench.apply(stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "first")]))
    second = [row("acme", "e1", 9, "second"), row("acme", "e1", 9, "more", piece=1)]
    bench.apply(stream.memories("acme", "e1", 9, second))
    assert {r["text"] for r in bench.rows().values()} == {"first"}
    assert 9 in bench.shard.state.applied


def test_a_later_turn_completes_the_context_of_a_row(bench: Bench, stream: Stream) -> None:
    """Same memory, higher revision: the new context, with the expansions it already had."""
    bench.apply(
        stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "Where?")]),
        stream.expansions("acme", "e1", 1, ["where to?"]),
    )
    revised = row("acme", "e1", 1, "Where?", context="To Lisbon", revision_sequence=2)
    bench.apply(stream.memories("acme", "e2", 2, [revised, row("acme", "e2", 2, "To Lisbon")]))
    stored = bench.rows()
    assert len(stored) == 2
    assert (stored[FIRST]["context"], stored[FIRST]["expansions"]) == ("To Lisbon", ["where to?"])


def test_a_revision_that_came_first_is_not_undone(bench: Bench, stream: Stream) -> None:
    """The row itself arrives after its completed version and is older."""
    revised = row("acme", "e1", 1, "Where?", context="To Lisbon", revision_sequence=2)
    bench.apply(stream.memories("acme", "e2", 2, [revised, row("acme", "e2", 2, "To Lisbon")]))
    bench.apply(stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "Where?")]))
    assert bench.rows()[FIRST]["context"] == "To Lisbon"


def test_enrichment_before_its_memory_is_asked_for_again(bench: Bench, stream: Stream) -> None:
    """Postponed, not lost; the eighth time it is a dead letter."""
    early = stream.expansions("acme", "e1", 1, ["why?"])
    outcome = bench.apply(early)
    assert [m for m, _ in outcome.postponed] == [early]
    eighth = message("HELIX_DERIVED", early.subject, early.data, 1, delivered=8)
    assert [m for m, _ in bench.apply(eighth).dead] == [eighth]


def test_one_bad_message_spoils_no_other(bench: Bench, stream: Stream) -> None:
    """The undecodable one is a dead letter and counts as answered; its neighbour is applied."""
    subject = subjects.derived_subject("memories", "acme")
    bad = message("HELIX_DERIVED", subject, b"?", 1, headers={subjects.EVENT_SEQUENCE_HEADER: "1"})
    stream.last = 1
    outcome = bench.apply(bad, stream.memories("acme", "e2", 2, [row("acme", "e2", 2, "good")]))
    assert (len(outcome.done), len(outcome.dead)) == (1, 1)
    assert bench.shard.state.applied.floor == 2
    assert bench.shard.state.derived.floor == 2


@pytest.mark.parametrize("model", ["model-a", "model-b"])
def test_a_refused_message_that_is_done_after_all_is_answered_for_who_starts_anew(
    bench: Bench, stream: Stream, model: str
) -> None:
    """Its dead letter was not stored, it came again, and was applied or had nothing left to answer."""
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


def test_rows_of_another_tenant_refuse_the_message(bench: Bench, stream: Stream) -> None:
    """The tenant of every row is the tenant of the subject."""
    outcome = bench.apply(stream.memories("acme", "e1", 1, [row("other", "e1", 1, "smuggled")]))
    assert "another tenant" in str(outcome.dead[0][1])
    assert bench.rows() == {}


def test_vectors_of_another_model_wait_and_name_both_models(bench: Bench, stream: Stream) -> None:
    """They are no dead letter, the floor stays before them, and what was there stays."""
    bench.apply(stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "eight")]))
    foreign = row("acme", "e2", 2, "four", dimensions=4, model="model-b")
    outcome = bench.apply(stream.memories("acme", "e2", 2, [foreign]))
    ((_, error),) = outcome.unfit
    assert isinstance(error, IncompatibleError)
    assert "model-a (8 dimensions)" in str(error)
    assert "model-b (4 dimensions)" in str(error)
    assert outcome == Outcome(unfit=outcome.unfit)
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
    assert [message for message, _ in outcome.unfit] == [unfit]
    assert outcome.waiting == [questions, later]
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
    ((_, error),) = outcome.unfit
    assert "run one release everywhere" in str(error)
    assert outcome == Outcome(unfit=outcome.unfit)
    assert (bench.shard.state.applied.highest, bench.shard.state.derived.highest) == (0, 0)


def test_a_correction_does_not_change_who_sees_the_memory(bench: Bench, stream: Stream) -> None:
    """The tenant corrects Ann's memory: it stays hers, whatever the event says of its user."""
    bench.apply(stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "my salary", user_id="ann")]))
    of_tenant = row("acme", "e2", 2, "my new salary", corrects=FIRST)
    of_ann = row("acme", "e3", 3, "my newer salary", corrects=SECOND, user_id="ann", shared=True, acl=["hr"])
    for number, rows in ((2, of_tenant), (3, of_ann)):
        assert bench.apply(stream.memories("acme", f"e{number}", number, [rows])).dead == []
    seen_by = [(record["owner"], record["audience"]) for record in bench.rows().values()]
    assert seen_by == [("ann", ["*"])] * 3
    assert bench.rows()[FIRST]["superseded_by"] == SECOND


def test_a_correction_waits_for_a_memory_that_may_be_on_its_way(bench: Bench, stream: Stream) -> None:
    """While an earlier event is unanswered it is asked for again, however often it comes."""
    rows = [row("acme", "e2", 2, "newer", corrects=FIRST)]
    early = stream.memories("acme", "e2", 2, rows)
    assert [m for m, _ in bench.apply(early).postponed] == [early]
    often = message(early.metadata.stream, early.subject, early.data, 1, delivered=20, headers=early.headers)
    assert [m for m, _ in bench.apply(often).postponed] == [often]
    bench.apply(stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "older")]))
    assert bench.apply(early).done == [early]
    assert bench.rows()[FIRST]["superseded_by"] == SECOND


def test_a_correction_of_an_unknown_memory_is_dead_lettered_whole(bench: Bench, stream: Stream) -> None:
    """It would stand as a memory that corrects nothing; what enriches it is not waited for."""
    unknown = memory_id("acme", "never published", 0)
    bench.apply(stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "older")]))
    wrong = stream.memories("acme", "e2", 2, [row("acme", "e2", 2, "newer", corrects=unknown)])
    outcome = bench.apply(
        wrong, stream.expansions("acme", "e2", 2, ["q"]), stream.links("acme", "e2", 2, ["N"])
    )
    assert [(m, str(error).partition(":")[0]) for m, error in outcome.dead] == [(wrong, "memory_id")]
    assert outcome.postponed == []
    assert set(bench.rows()) == {FIRST}
    assert bench.shard.state.applied.floor == 2


def test_a_refused_correction_keeps_its_reason_until_its_dead_letter_is_stored(
    bench: Bench, stream: Stream
) -> None:
    """The writer ends after the generation, or the stream of dead letters is away: it is refused again."""
    unknown = memory_id("acme", "never published", 0)
    wrong = stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "newer", corrects=unknown)])
    assert len(bench.apply(wrong, stream.memories("acme", "e2", 2, [row("acme", "e2", 2, "a")])).dead) == 1
    bench.publish()
    again = bench.reopened()
    for _ in range(2):
        outcome = again.apply(wrong)
        assert (len(outcome.dead), len(outcome.done)) == (1, 0)
    again.shard.dead_letters_stored(outcome)
    again.publish()
    dead_letters_stored = again.reopened()
    assert len(dead_letters_stored.apply(wrong).done) == 1
    dead_letters_stored.shard.close()


def test_a_correction_never_speaks_of_what_is_published_later(bench: Bench, stream: Stream) -> None:
    """The log decides, not what happens to have arrived: a rebuild refuses it as well."""
    later = stream.memories("acme", "e3", 3, [row("acme", "e3", 3, "the port is 8080")])
    bench.apply(later)
    bench.apply(stream.memories("acme", "e1", 1, []))
    early = row("acme", "e2", 2, "the port is 9090", corrects=memory_id("acme", "e3", 0))
    assert len(bench.apply(stream.memories("acme", "e2", 2, [early])).dead) == 1
    assert set(bench.rows()) == {memory_id("acme", "e3", 0)}


def test_a_correction_that_comes_again_after_its_memory_was_erased_stands(
    bench: Bench, stream: Stream
) -> None:
    """A redelivery is judged by the log, in which the erasure came later."""
    bench.apply(stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "older")]))
    newer = stream.memories("acme", "e2", 2, [row("acme", "e2", 2, "newer", corrects=FIRST)])
    bench.apply(newer)
    bench.apply(lifecycle(EraseEvent(event_id="x", tenant_id="acme", memory_ids=[FIRST]), 3))
    assert bench.apply(newer).dead == []
    assert set(bench.rows()) == {SECOND}


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
    """Refused whole before anything changed; the writer lives."""
    poison = stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "one") | broken])
    assert [m for m, _ in bench.apply(poison).dead] == [poison]
    assert bench.rows() == {}


def test_nothing_answers_an_event_the_log_does_not_hold(bench: Bench, stream: Stream) -> None:
    """A forged sequence must not move the floor that says what is applied."""
    forged = stream.memories("acme", "e1", 1_000, [row("acme", "e1", 1_000, "one")])
    subject = subjects.derived_subject("memories", "acme")
    headers = {subjects.EVENT_SEQUENCE_HEADER: "1000"}
    rubbish = message(subjects.DERIVED_STREAM, subject, b"rubbish", 2, headers=headers)
    outcome = bench.apply(forged, rubbish, log_end=1)
    assert [m.data for m, _ in outcome.dead] == [forged.data, rubbish.data]
    assert bench.shard.state.applied.highest == 0


def test_an_answer_without_rows_is_published_too(bench: Bench) -> None:
    """Events that make no memory must not stay unacknowledged until one does."""
    origin = edges.Origin("memories", "acme", "e1", "session", 1, model="mini@abc")
    body = edges.encode(origin, [], edges.memories_schema(8))
    headers = {subjects.EVENT_SEQUENCE_HEADER: "1"}
    subject = subjects.derived_subject("memories", "acme")
    bench.apply(message(subjects.DERIVED_STREAM, subject, body, 1, headers=headers))
    manifest = bench.publish()
    assert (manifest.applied_sequence, manifest.counts.memories) == (1, 0)
    assert (manifest.model.name, manifest.model.checksum, manifest.model.dimensions) == ("mini", "abc", 8)


def test_a_correction_hides_the_old_version_and_names_the_new(bench: Bench, stream: Stream) -> None:
    """Superseded, out of the lexicon, and tied by an UPDATES edge."""
    bench.apply(stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "the port is 8080")]))
    bench.apply(
        stream.memories("acme", "e2", 2, [row("acme", "e2", 2, "the port is 9090 now", corrects=FIRST)])
    )
    old = bench.rows()[FIRST]
    assert (old["is_latest"], old["superseded_by"], old["hidden"]) == (False, SECOND, True)
    assert found(bench, "port") == [SECOND]
    assert bench.shard.manifest is not None
    graph = to_networkx(Generation.open(bench.folder, bench.shard.manifest.generation).graph, "acme")
    assert [(s, t, d["kind"]) for s, t, d in graph.edges(data=True) if d["kind"] == "UPDATES"] == [
        (1, 0, "UPDATES")
    ]


def test_a_correction_never_touches_another_tenants_memory(bench: Bench, stream: Stream) -> None:
    """A foreign id is unknown: the same dead letter as for an id that does not exist."""
    bench.apply(stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "ours")]))
    theirs = [
        stream.memories("other", event, number, [row("other", event, number, "theirs", corrects=corrects)])
        for number, event, corrects in ((2, "x", FIRST), (3, "y", memory_id("acme", "nothing", 0)))
    ]
    reasons = [str(error).split("memory ", 1)[1][32:] for _, error in bench.apply(*theirs).dead]
    assert len(reasons) == 2
    assert len(set(reasons)) == 1
    assert set(bench.rows()) == {FIRST}
    assert bench.rows()[FIRST]["is_latest"]


def test_a_new_version_replaces_a_document(bench: Bench, stream: Stream) -> None:
    """The pieces of the old version are hidden; it does not come back when it arrives late."""
    new = [row("acme", "v2", 5, "new text", document_id="d")]
    bench.apply(stream.memories("acme", "v2", 5, new, document="d"))
    old = [row("acme", "v1", 3, "old text", document_id="d")]
    bench.apply(stream.memories("acme", "v1", 3, old, document="d"))
    assert found(bench, "text") == [memory_id("acme", "v2", 0)]
    assert not bench.rows()[memory_id("acme", "v1", 0)]["is_latest"]


def test_a_document_is_deleted_by_a_message_without_rows(bench: Bench, stream: Stream) -> None:
    """The tombstone hides every piece, in this tenant only."""
    for tenant in ("acme", "other"):
        rows = [row(tenant, "v1", 1, "text", document_id="d", piece=piece) for piece in (0, 1)]
        bench.apply(stream.memories(tenant, "v1", 1, rows, document="d"))
    bench.apply(stream.memories("acme", "gone", 2, [], document="d"))
    hidden = {r["tenant_id"] for r in bench.rows().values() if r["hidden"]}
    assert hidden == {"acme"}


def test_what_is_forgotten_is_hidden_and_can_be_restored(bench: Bench, stream: Stream) -> None:
    """The session is hidden by forget, and back in the lexicon after restore."""
    rows = [row("acme", "e1", 1, "secret plan", session_id="s")]
    bench.apply(stream.memories("acme", "e1", 1, rows))
    bench.apply(lifecycle(ForgetEvent(event_id="f", tenant_id="acme", of_session="s"), 2))
    assert found(bench, "secret") == []
    assert bench.rows()[FIRST]["deleted_at"] == NOON
    bench.apply(lifecycle(ForgetEvent(event_id="r", tenant_id="acme", of_session="s", restore=True), 3))
    assert found(bench, "secret") == [FIRST]
    assert bench.rows()[FIRST]["deleted_at"] is None


def test_forgetting_reaches_what_arrives_late_but_not_what_is_newer(bench: Bench, stream: Stream) -> None:
    """Sequence 2 forgets the user's rows: 1 arrives late and is hidden, 3 is not."""
    bench.apply(lifecycle(ForgetEvent(event_id="f", tenant_id="acme", of_user="ann"), 2))
    bench.apply(
        stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "before", user_id="ann")]),
        stream.memories("acme", "e2", 3, [row("acme", "e2", 3, "after", user_id="ann")]),
    )
    assert [bench.rows()[m]["hidden"] for m in (FIRST, SECOND)] == [True, False]


def test_forgetting_stays_inside_its_tenant(bench: Bench, stream: Stream) -> None:
    """Another tenant's forget of our id and of our session's name does nothing here."""
    bench.apply(stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "ours", session_id="s")]))
    bench.apply(
        lifecycle(ForgetEvent(event_id="f", tenant_id="other", memory_ids=[FIRST]), 2),
        lifecycle(EraseEvent(event_id="g", tenant_id="other", memory_ids=[FIRST]), 3),
        lifecycle(EraseEvent(event_id="h", tenant_id="other", of_session="s"), 4),
    )
    assert not bench.rows()[FIRST]["hidden"]


def test_a_memory_that_comes_and_is_erased_in_one_batch_does_not_stop_the_writer(
    bench: Bench, stream: Stream
) -> None:
    """The first batch of an instance, say: the stores know no ordinal yet."""
    sent = stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "erase me")])
    bench.apply(sent, lifecycle(EraseEvent(event_id="x", tenant_id="acme", memory_ids=[FIRST]), 2))
    assert bench.publish().applied_sequence == 2
    reopened = bench.reopened()
    reopened.apply(stream.memories("acme", "e3", 3, [row("acme", "e3", 3, "stays")]))
    assert reopened.publish().counts.recallable == 1
    reopened.shard.close()


def test_an_erased_memory_is_gone_from_every_store_and_stays_gone(bench: Bench, stream: Stream) -> None:
    """Not in the table, not in the lexicon, no edge; redelivery and restart do not bring it back."""
    sent = stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "erase me")])
    bench.apply(
        sent,
        stream.links("acme", "e1", 1, ["Erasmus"]),
        stream.memories("acme", "e2", 2, [row("acme", "e2", 2, "keep me")]),
    )
    bench.publish()
    bench.apply(lifecycle(EraseEvent(event_id="x", tenant_id="acme", memory_ids=[FIRST]), 3))
    assert found(bench, "erase keep") == [SECOND]
    reopened = bench.reopened()
    late = stream.expansions("acme", "e1", 1, ["erase?"])
    assert len(reopened.apply(sent, late).done) == 2
    assert set(reopened.rows()) == {SECOND}
    manifest = reopened.publish()
    assert (manifest.counts.memories, manifest.counts.signals, manifest.counts.edges) == (1, 2, 0)
    reopened.shard.close()


@pytest.mark.parametrize("restarts", [0, 1, 2])
def test_an_erasure_retires_every_older_generation(bench: Bench, stream: Stream, restarts: int) -> None:
    """Kept back-ups of the erased text would be no erasure; a restart in between forgets nothing."""
    for number in (1, 2, 3):
        bench.apply(
            stream.memories(
                "acme", f"e{number}", number, [row("acme", f"e{number}", number, f"text {number}")]
            )
        )
        bench.publish()
    later = NOON + timedelta(days=365)
    assert bench.shard.retire(now=later, keep=3, min_age_seconds=0) == []
    bench.apply(lifecycle(EraseEvent(event_id="x", tenant_id="acme", memory_ids=[FIRST]), 4))
    bench.publish()
    for _ in range(restarts):
        bench = bench.reopened()
    assert sorted(bench.shard.retire(now=later, keep=3, min_age_seconds=0)) == [1, 2, 3]
    secret = b"text 1"
    assert not [path for path in bench.folder.rglob("*") if path.is_file() and secret in path.read_bytes()]
    # later generations are kept as always
    bench.apply(stream.memories("acme", "e5", 5, [row("acme", "e5", 5, "text 5")]))
    bench.publish()
    assert bench.shard.retire(now=later, keep=3, min_age_seconds=0) == []
    bench.shard.close()


def test_feedback_is_counted_once_per_event(bench: Bench, stream: Stream) -> None:
    """Redelivered or published again, it counts once; the last access is the server's time."""
    bench.apply(stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "served")]))
    event = FeedbackEvent(event_id="f", tenant_id="acme", helpful=[FIRST, FIRST])
    bench.apply(lifecycle(event, 2), lifecycle(event, 2), lifecycle(event, 7))
    stored = bench.rows()[FIRST]
    counts = (stored["helpful_count"], stored["unhelpful_count"], stored["access_count"])
    assert counts == (1, 0, 1)
    assert stored["last_accessed_at"] == NOON


def test_feedback_waits_for_its_memory(bench: Bench, stream: Stream) -> None:
    """After a rebuild it may come first; it is not lost."""
    bench.apply(lifecycle(FeedbackEvent(event_id="f", tenant_id="acme", unhelpful=[FIRST]), 2))
    bench.apply(stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "served")]))
    assert bench.rows()[FIRST]["unhelpful_count"] == 1


def test_a_repeated_statement_points_to_the_earliest(bench: Bench, stream: Stream) -> None:
    """Nothing is merged or hidden; the one that arrived first but is later points back as well."""
    text = " ".join(f"word{n}" for n in range(40))
    bench.apply(stream.memories("acme", "e2", 2, [row("acme", "e2", 2, text.replace("word7", "seven"))]))
    bench.apply(stream.memories("acme", "e1", 1, [row("acme", "e1", 1, text)]))
    stored = bench.rows()
    assert (stored[FIRST]["duplicate_of"], stored[SECOND]["duplicate_of"]) == ("", FIRST)
    assert not stored[SECOND]["hidden"]
    assert bench.publish().counts.edges == 2


def test_private_statements_are_not_compared_across_owners(bench: Bench, stream: Stream) -> None:
    """Ann's and Bob's equal sentences say nothing of each other."""
    bench.apply(
        stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "equal words", user_id="ann")]),
        stream.memories("acme", "e2", 2, [row("acme", "e2", 2, "equal words", user_id="bob")]),
    )
    assert {r["duplicate_of"] for r in bench.rows().values()} == {""}


def test_the_sweep_hides_what_expired(bench: Bench, stream: Stream) -> None:
    """Not a moment before its time."""
    expiry = NOON + timedelta(seconds=10)
    bench.apply(stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "brief", expires_at=expiry)]))
    assert not bench.shard.sweep(now=NOW + 9_999_999)
    assert bench.shard.sweep(now=NOW + 10_000_000)
    assert bench.rows()[FIRST]["hidden"]


@pytest.mark.parametrize("body", [b"{", b'{"kind":"forget","event_id":"f","tenant_id":"acme"}'])
def test_an_invalid_lifecycle_event_is_a_dead_letter(bench: Bench, body: bytes) -> None:
    """The reason names the rule; the event counts as answered."""
    outcome = bench.apply(message("HELIX_EVENTS", "helix.v1.events.acme.-.forget", body, 1))
    assert len(outcome.dead) == 1
    assert bench.shard.state.applied.floor == 1


def test_an_event_that_speaks_for_another_tenant_is_a_dead_letter(bench: Bench) -> None:
    """Body and subject must name the same tenant."""
    event = ForgetEvent(event_id="f", tenant_id="victim", of_user="ann")
    sent = message("HELIX_EVENTS", "helix.v1.events.acme.-.forget", encode_event(event), 1)
    assert len(bench.apply(sent).dead) == 1
    assert bench.shard.state.tombstones.forgotten == {}


def test_an_event_of_another_kind_is_a_dead_letter(bench: Bench) -> None:
    """Only forget, erase and feedback come this way."""
    event = MemoryEvent(event_id="m", tenant_id="acme", text="hello")
    sent = message("HELIX_EVENTS", subject_of(event), encode_event(event), 1)
    assert len(bench.apply(sent).dead) == 1


def test_a_restart_knows_everything_the_generation_knew(bench: Bench, stream: Stream) -> None:
    """Ledger, near-duplicates, tombstones and sequences come back from the published generation."""
    text = " ".join(f"word{n}" for n in range(40))
    bench.apply(
        stream.memories("acme", "e1", 1, [row("acme", "e1", 1, text, session_id="s", user_id="ann")]),
        stream.memories("acme", "e2", 2, [row("acme", "e2", 2, text, session_id="s", user_id="ann")]),
        stream.memories("acme", "e3", 3, [row("acme", "e3", 3, "newer", corrects=SECOND, user_id="ann")]),
        lifecycle(FeedbackEvent(event_id="f", tenant_id="acme", helpful=["0" * 32]), 5),
    )
    bench.publish()
    before = bench.shard.state
    reopened = bench.reopened()
    after = reopened.shard.state
    assert before.ledger.facts.tolist() == after.ledger.facts.tolist()
    assert [before.ledger.status(o) for o in range(3)] == [after.ledger.status(o) for o in range(3)]
    assert before.ledger.digest == after.ledger.digest
    assert before.tombstones == after.tombstones
    assert (before.applied.floor, before.applied.above) == (after.applied.floor, after.applied.above)
    assert before.model == after.model
    reopened.apply(
        stream.memories("acme", "e4", 6, [row("acme", "e4", 6, text, user_id="ann")]),
        lifecycle(ForgetEvent(event_id="g", tenant_id="acme", of_session="s"), 7),
    )
    stored = reopened.rows()
    assert stored[memory_id("acme", "e4", 0)]["duplicate_of"] == FIRST
    assert [stored[m]["deleted_at"] for m in (FIRST, SECOND)] == [NOON, NOON]
    reopened.shard.close()


def test_an_older_epoch_publishes_nothing(bench: Bench, stream: Stream) -> None:
    """A writer that was replaced is fenced out."""
    bench.apply(stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "one")]))
    bench.publish(epoch=5)
    with pytest.raises(PermanentError, match="epoch 4"):
        bench.publish(epoch=4)
