"""What a generation holds of the state, and who may publish one."""

from __future__ import annotations

import pytest

from helix_consolidation.stores.anew import continue_streams
from helix_memory import subjects
from helix_memory.events import FeedbackEvent, ForgetEvent
from helix_shared import edges
from helix_shared.artifacts.learned_adapters import has_withheld
from helix_shared.errors import PermanentError
from helix_shared.identity import memory_id
from tests.unit.consolidation.conftest import (
    FIRST,
    NOON,
    SECOND,
    Bench,
    Stream,
    lifecycle,
    message,
    row,
)


def test_a_message_without_rows_is_published(bench: Bench) -> None:
    """An event without memories must not stay unacknowledged until another event has one."""
    origin = edges.Origin("memories", "acme", "e1", "session", 1, model="mini@abc")
    body = edges.encode(origin, [], edges.memories_schema(8))
    headers = {subjects.EVENT_SEQUENCE_HEADER: "1"}
    subject = subjects.derived_subject("memories", "acme")
    bench.apply(message(subjects.DERIVED_STREAM, subject, body, 1, headers=headers))
    manifest = bench.publish()
    assert (manifest.applied_sequence, manifest.counts.memories) == (1, 0)
    assert (manifest.model.name, manifest.model.checksum, manifest.model.dimensions) == ("mini", "abc", 8)


def test_a_restart_restores_the_whole_state(bench: Bench, stream: Stream) -> None:
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
    """A writer that was replaced cannot publish."""
    bench.apply(stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "one")]))
    bench.publish(epoch=5)
    with pytest.raises(PermanentError, match="epoch 4"):
        bench.publish(epoch=4)


def test_an_adapter_that_could_not_be_removed_is_tried_again_with_every_generation(
    bench: Bench, stream: Stream
) -> None:
    """Neither the start nor a publication ends with it; the next one removes what it can by then."""
    bench.apply(stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "one")]))
    bench.publish()
    obstacle = bench.folder / "adapters" / "acme" / "folder"
    obstacle.mkdir(parents=True)
    reopened = bench.reopened()
    assert has_withheld(bench.folder)
    reopened.apply(stream.memories("acme", "e2", 2, [row("acme", "e2", 2, "two")]))
    reopened.publish()
    assert has_withheld(bench.folder)
    obstacle.rmdir()
    reopened.apply(stream.memories("acme", "e3", 3, [row("acme", "e3", 3, "three")]))
    reopened.publish()
    assert not has_withheld(bench.folder)
    assert list((bench.folder / "adapters").iterdir()) == []
    reopened.shard.close()


def test_stores_made_anew_take_the_messages_that_follow_although_they_counted_more(
    bench: Bench, stream: Stream
) -> None:
    """A rebuild numbers its own messages; HELIX_DERIVED may have had fewer, also for the same event."""
    for number in (1, 2, 3):
        bench.apply(stream.memories("acme", f"e{number}", number, [row("acme", f"e{number}", number, "old")]))
    continue_streams(bench.shard, derived_stream="2026-05-01T12:00:00+00:00", derived_end=1)
    following = Stream(last=1)
    bench.apply(
        following.memories("acme", "e3", 3, [row("acme", "e3", 3, "made again")]),
        following.memories("acme", "e4", 4, [row("acme", "e4", 4, "new")]),
    )
    stored = bench.rows()
    assert [stored[memory_id("acme", event, 0)]["text"] for event in ("e3", "e4")] == ["made again", "new"]
    assert (bench.shard.state.applied.floor, bench.shard.state.derived.floor) == (4, 3)
