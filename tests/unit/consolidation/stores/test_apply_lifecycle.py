"""Documents are replaced and deleted; memories are forgotten, restored, erased and rated."""

from __future__ import annotations

from datetime import timedelta

import pytest

from helix_consolidation.folding.erasure import carry_out
from helix_consolidation.stores import apply
from helix_memory.events import EraseEvent, FeedbackEvent, ForgetEvent
from helix_shared.identity import memory_id
from tests.unit.consolidation.conftest import (
    FIRST,
    NOON,
    SECOND,
    Bench,
    Stream,
    lifecycle,
    row,
)


def test_a_new_version_replaces_a_document(bench: Bench, stream: Stream) -> None:
    """The pieces of the old version are hidden, also when they arrive late."""
    new = [row("acme", "v2", 5, "new text", document_id="d")]
    bench.apply(stream.memories("acme", "v2", 5, new, document="d"))
    old = [row("acme", "v1", 3, "old text", document_id="d")]
    bench.apply(stream.memories("acme", "v1", 3, old, document="d"))
    assert bench.found("text") == [memory_id("acme", "v2", 0)]
    assert not bench.rows()[memory_id("acme", "v1", 0)]["is_latest"]


def test_more_messages_of_an_older_version_keep_it_replaced(bench: Bench, stream: Stream) -> None:
    """A worker derives the first of three versions again, and once more."""
    versions = [(f"v{n}", n, [row("acme", f"v{n}", n, f"text {n}", document_id="d")]) for n in (1, 2, 3)]
    for version in (*versions, versions[0], versions[0]):
        bench.apply(stream.memories("acme", *version, document="d"))
    assert [r["text"] for r in bench.rows().values() if not r["hidden"]] == ["text 3"]


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
    assert bench.found("secret") == []
    assert bench.rows()[FIRST]["deleted_at"] == NOON
    bench.apply(lifecycle(ForgetEvent(event_id="r", tenant_id="acme", of_session="s", restore=True), 3))
    assert bench.found("secret") == [FIRST]
    assert bench.rows()[FIRST]["deleted_at"] is None


def test_many_memories_are_changed_in_parts(
    bench: Bench, stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A user's memories, and one that arrives with the event: the parts are written one after another."""
    monkeypatch.setattr(apply, "BATCH_ROWS", 2)
    monkeypatch.setattr(carry_out, "BATCH_ROWS", 2)
    for n in range(1, 6):
        said = row("acme", f"e{n}", n, f"secret plan {n}", user_id="ann")
        bench.apply(stream.memories("acme", f"e{n}", n, [said]))
        bench.apply(stream.expansions("acme", f"e{n}", n, ["which?"]))
    other = [row("acme", "e7", 7, "another plan")]
    forget = ForgetEvent(event_id="f", tenant_id="acme", of_user="ann")
    bench.apply(lifecycle(forget, 6), stream.memories("acme", "e7", 7, other))
    assert [one["hidden"] for one in bench.rows().values()].count(True) == 5
    assert bench.found("plan") == [memory_id("acme", "e7", 0)]
    bench.apply(lifecycle(EraseEvent(event_id="x", tenant_id="acme", of_user="ann"), 8))
    assert len(bench.rows()) == 1
    assert bench.shard.state.erasures.open[8].counts["expansions"] == 5


def test_forgetting_reaches_late_rows_but_not_newer_ones(bench: Bench, stream: Stream) -> None:
    """Event 2 forgets the user's rows: row 1 arrives late and is hidden, row 3 is not."""
    bench.apply(lifecycle(ForgetEvent(event_id="f", tenant_id="acme", of_user="ann"), 2))
    bench.apply(
        stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "before", user_id="ann")]),
        stream.memories("acme", "e2", 3, [row("acme", "e2", 3, "after", user_id="ann")]),
    )
    assert [bench.rows()[m]["hidden"] for m in (FIRST, SECOND)] == [True, False]


def test_forgetting_stays_inside_its_tenant(bench: Bench, stream: Stream) -> None:
    """Another tenant's forget of our id and of our session's name changes nothing."""
    bench.apply(stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "ours", session_id="s")]))
    bench.apply(
        lifecycle(ForgetEvent(event_id="f", tenant_id="other", memory_ids=[FIRST]), 2),
        lifecycle(EraseEvent(event_id="g", tenant_id="other", memory_ids=[FIRST]), 3),
        lifecycle(EraseEvent(event_id="h", tenant_id="other", of_session="s"), 4),
    )
    assert not bench.rows()[FIRST]["hidden"]


def test_a_memory_added_and_erased_in_one_batch_does_not_stop_the_writer(
    bench: Bench, stream: Stream
) -> None:
    """In the first batch the stores contain no ordinal yet."""
    sent = stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "erase me")])
    bench.apply(sent, lifecycle(EraseEvent(event_id="x", tenant_id="acme", memory_ids=[FIRST]), 2))
    assert bench.publish().applied_sequence == 2
    reopened = bench.reopened()
    reopened.apply(stream.memories("acme", "e3", 3, [row("acme", "e3", 3, "stays")]))
    assert reopened.publish().counts.recallable == 1
    reopened.shard.close()


def test_an_erased_memory_is_removed_from_every_store_for_good(bench: Bench, stream: Stream) -> None:
    """Not in the table, the lexicon or the graph; redelivery and restart do not restore it."""
    sent = stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "erase me")])
    bench.apply(
        sent,
        stream.links("acme", "e1", 1, ["Erasmus"]),
        stream.memories("acme", "e2", 2, [row("acme", "e2", 2, "keep me")]),
    )
    bench.publish()
    bench.apply(lifecycle(EraseEvent(event_id="x", tenant_id="acme", memory_ids=[FIRST]), 3))
    assert bench.found("erase keep") == [SECOND]
    reopened = bench.reopened()
    late = stream.expansions("acme", "e1", 1, ["erase?"])
    assert len(reopened.apply(sent, late).done) == 2
    assert set(reopened.rows()) == {SECOND}
    manifest = reopened.publish()
    assert (manifest.counts.memories, manifest.counts.signals, manifest.counts.edges) == (1, 2, 0)
    reopened.shard.close()


@pytest.mark.parametrize("restarts", [0, 1, 2])
def test_an_erasure_retires_every_older_generation(bench: Bench, stream: Stream, restarts: int) -> None:
    """No older generation keeps the erased text, also after a restart."""
    for number in (1, 2, 3):
        bench.apply(
            stream.memories(
                "acme", f"e{number}", number, [row("acme", f"e{number}", number, f"text {number}")]
            )
        )
        bench.publish()
    later = NOON + timedelta(days=365)
    assert bench.shard.purge.retire(now=later, keep=3, min_age_seconds=0) == []
    bench.apply(lifecycle(EraseEvent(event_id="x", tenant_id="acme", memory_ids=[FIRST]), 4))
    bench.publish()
    for _ in range(restarts):
        bench = bench.reopened()
    assert sorted(bench.shard.purge.retire(now=later, keep=3, min_age_seconds=0)) == [1, 2, 3]
    secret = b"text 1"
    assert not [path for path in bench.folder.rglob("*") if path.is_file() and secret in path.read_bytes()]
    # later generations are kept as set
    bench.apply(stream.memories("acme", "e5", 5, [row("acme", "e5", 5, "text 5")]))
    bench.publish()
    assert bench.shard.purge.retire(now=later, keep=3, min_age_seconds=0) == []
    bench.shard.close()


def test_feedback_is_counted_once_per_event(bench: Bench, stream: Stream) -> None:
    """Redelivered or published again it counts once; the last access is the server's time."""
    bench.apply(stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "served")]))
    event = FeedbackEvent(event_id="f", tenant_id="acme", helpful=[FIRST, FIRST])
    bench.apply(lifecycle(event, 2), lifecycle(event, 2), lifecycle(event, 7))
    stored = bench.rows()[FIRST]
    counts = (stored["helpful_count"], stored["unhelpful_count"], stored["access_count"])
    assert counts == (1, 0, 1)
    assert stored["last_accessed_at"] == NOON


def test_feedback_waits_for_its_memory(bench: Bench, stream: Stream) -> None:
    """It may arrive before its memory, and is counted then."""
    bench.apply(lifecycle(FeedbackEvent(event_id="f", tenant_id="acme", unhelpful=[FIRST]), 2))
    bench.apply(stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "served")]))
    assert bench.rows()[FIRST]["unhelpful_count"] == 1
