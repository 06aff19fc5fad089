"""Corrections supersede the version before, or are refused."""

from __future__ import annotations

from helix_cli.output.graph_export import to_networkx
from helix_memory.events import EraseEvent
from helix_shared.artifacts.generation.reader import Generation
from helix_shared.identity import memory_id
from tests.unit.consolidation.conftest import (
    FIRST,
    SECOND,
    Bench,
    Stream,
    lifecycle,
    message,
    row,
)


def test_a_correction_does_not_change_who_can_recall_the_memory(bench: Bench, stream: Stream) -> None:
    """The tenant corrects Ann's memory: Ann stays the owner, for any `user_id` of the event."""
    bench.apply(stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "my salary", user_id="ann")]))
    of_tenant = row("acme", "e2", 2, "my new salary", corrects=FIRST)
    of_ann = row("acme", "e3", 3, "my newer salary", corrects=SECOND, user_id="ann", shared=True, acl=["hr"])
    for number, rows in ((2, of_tenant), (3, of_ann)):
        assert bench.apply(stream.memories("acme", f"e{number}", number, [rows])).dead == []
    seen_by = [(record["owner"], record["audience"]) for record in bench.rows().values()]
    assert seen_by == [("ann", ["*"])] * 3
    assert bench.rows()[FIRST]["superseded_by"] == SECOND


def test_a_correction_waits_while_an_earlier_event_is_not_processed(bench: Bench, stream: Stream) -> None:
    """It is postponed however often it is delivered."""
    rows = [row("acme", "e2", 2, "newer", corrects=FIRST)]
    early = stream.memories("acme", "e2", 2, rows)
    assert [m for m, _ in bench.apply(early).postponed] == [early]
    often = message(early.metadata.stream, early.subject, early.data, 1, delivered=20, headers=early.headers)
    assert [m for m, _ in bench.apply(often).postponed] == [often]
    bench.apply(stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "older")]))
    assert bench.apply(early).done == [early]
    assert bench.rows()[FIRST]["superseded_by"] == SECOND


def test_a_correction_of_an_unknown_memory_is_dead_lettered_whole(bench: Bench, stream: Stream) -> None:
    """Its enrichment is done at once."""
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
    """If the writer restarts before that, the message is refused again."""
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


def test_a_correction_of_a_later_memory_is_refused(bench: Bench, stream: Stream) -> None:
    """Also when that memory has arrived already: a rebuild from the log refuses it as well."""
    later = stream.memories("acme", "e3", 3, [row("acme", "e3", 3, "the port is 8080")])
    bench.apply(later)
    bench.apply(stream.memories("acme", "e1", 1, []))
    early = row("acme", "e2", 2, "the port is 9090", corrects=memory_id("acme", "e3", 0))
    assert len(bench.apply(stream.memories("acme", "e2", 2, [early])).dead) == 1
    assert set(bench.rows()) == {memory_id("acme", "e3", 0)}


def test_a_correction_redelivered_after_its_memory_was_erased_is_kept(bench: Bench, stream: Stream) -> None:
    """In the log the erasure comes after the correction."""
    bench.apply(stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "older")]))
    newer = stream.memories("acme", "e2", 2, [row("acme", "e2", 2, "newer", corrects=FIRST)])
    bench.apply(newer)
    bench.apply(lifecycle(EraseEvent(event_id="x", tenant_id="acme", memory_ids=[FIRST]), 3))
    assert bench.apply(newer).dead == []
    assert set(bench.rows()) == {SECOND}


def test_a_correction_hides_the_old_version_and_names_the_new(bench: Bench, stream: Stream) -> None:
    """Superseded, out of the lexicon, and linked by an UPDATES edge."""
    bench.apply(stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "the port is 8080")]))
    bench.apply(
        stream.memories("acme", "e2", 2, [row("acme", "e2", 2, "the port is 9090 now", corrects=FIRST)])
    )
    old = bench.rows()[FIRST]
    assert (old["is_latest"], old["superseded_by"], old["hidden"]) == (False, SECOND, True)
    assert bench.found("port") == [SECOND]
    assert bench.shard.manifest is not None
    graph = to_networkx(Generation.open(bench.folder, bench.shard.manifest.generation).graph, "acme")
    assert [(s, t, d["kind"]) for s, t, d in graph.edges(data=True) if d["kind"] == "UPDATES"] == [
        (1, 0, "UPDATES")
    ]


def test_a_correction_cannot_change_another_tenants_memory(bench: Bench, stream: Stream) -> None:
    """The dead letter is the same as for an id that does not exist."""
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
