"""Memories messages and their enrichment become rows."""

from __future__ import annotations

from datetime import timedelta

from helix_memory.identity import memory_id
from tests.unit.consolidation.conftest import (
    FIRST,
    NOON,
    NOW,
    SECOND,
    Bench,
    Stream,
    message,
    row,
)


def test_a_memory_with_its_enrichment_is_one_row(bench: Bench, stream: Stream) -> None:
    """Memory, expansions and links of one event are one record."""
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
    """After redelivery the rows are the same, none twice."""
    sent = stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "once")])
    bench.apply(sent)
    before = bench.rows()
    outcome = bench.apply(sent, sent)
    assert len(outcome.done) == 2
    assert bench.rows() == before


def test_an_event_published_again_later_keeps_its_first_row(bench: Bench, stream: Stream) -> None:
    """The whole second message is dropped, including pieces that the first did not have."""
    bench.apply(stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "first")]))
    second = [row("acme", "e1", 9, "second"), row("acme", "e1", 9, "more", piece=1)]
    bench.apply(stream.memories("acme", "e1", 9, second))
    assert {r["text"] for r in bench.rows().values()} == {"first"}
    assert 9 in bench.shard.state.applied


def test_a_later_event_completes_the_context_of_a_row(bench: Bench, stream: Stream) -> None:
    """Same memory, higher revision: the new context, the old expansions."""
    bench.apply(
        stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "Where?")]),
        stream.expansions("acme", "e1", 1, ["where to?"]),
    )
    revised = row("acme", "e1", 1, "Where?", context="To Lisbon", revision_sequence=2)
    bench.apply(stream.memories("acme", "e2", 2, [revised, row("acme", "e2", 2, "To Lisbon")]))
    stored = bench.rows()
    assert len(stored) == 2
    assert (stored[FIRST]["context"], stored[FIRST]["expansions"]) == ("To Lisbon", ["where to?"])


def test_a_revision_that_came_first_is_kept(bench: Bench, stream: Stream) -> None:
    """The original row arrives after its completed version."""
    revised = row("acme", "e1", 1, "Where?", context="To Lisbon", revision_sequence=2)
    bench.apply(stream.memories("acme", "e2", 2, [revised, row("acme", "e2", 2, "To Lisbon")]))
    bench.apply(stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "Where?")]))
    assert bench.rows()[FIRST]["context"] == "To Lisbon"


def test_enrichment_before_its_memory_is_postponed(bench: Bench, stream: Stream) -> None:
    """The eighth delivery is a dead letter."""
    early = stream.expansions("acme", "e1", 1, ["why?"])
    outcome = bench.apply(early)
    assert [m for m, _ in outcome.postponed] == [early]
    eighth = message("HELIX_DERIVED", early.subject, early.data, 1, delivered=8)
    assert [m for m, _ in bench.apply(eighth).dead] == [eighth]


def test_a_near_duplicate_points_to_the_earliest(bench: Bench, stream: Stream) -> None:
    """Nothing is merged or hidden; also a later one that arrived first points to the earliest."""
    text = " ".join(f"{one}ol{other}" for one in "bcdfghklmp" for other in "aeuy")
    bench.apply(stream.memories("acme", "e2", 2, [row("acme", "e2", 2, text.replace("dole", "dale"))]))
    bench.apply(stream.memories("acme", "e1", 1, [row("acme", "e1", 1, text)]))
    stored = bench.rows()
    assert (stored[FIRST]["duplicate_of"], stored[SECOND]["duplicate_of"]) == ("", FIRST)
    assert not stored[SECOND]["hidden"]
    assert bench.publish().counts.edges == 2


def test_a_version_is_no_near_duplicate_of_another_one(bench: Bench, stream: Stream) -> None:
    """But of another memory that says the same, though a version comes before that."""
    text = " ".join(f"word{n}" for n in range(40))
    texts = (text, f"{text} too", text.replace("word7", "seven"), text.replace("word9", "nine"))
    corrected = ("", "", FIRST, memory_id("acme", "e3", 0))
    for number, (said, corrects) in enumerate(zip(texts, corrected, strict=True), 1):
        rows = [row("acme", f"e{number}", number, said, corrects=corrects)]
        bench.apply(stream.memories("acme", f"e{number}", number, rows))
    found = {one["event_id"]: one["duplicate_of"] for one in bench.rows().values()}
    assert found == {"e1": "", "e2": FIRST, "e3": SECOND, "e4": SECOND}


def test_private_statements_are_not_compared_across_owners(bench: Bench, stream: Stream) -> None:
    """Equal sentences of Ann and Bob are not near-duplicates."""
    bench.apply(
        stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "equal words", user_id="ann")]),
        stream.memories("acme", "e2", 2, [row("acme", "e2", 2, "equal words", user_id="bob")]),
    )
    assert {r["duplicate_of"] for r in bench.rows().values()} == {""}


def test_the_sweep_hides_what_expired(bench: Bench, stream: Stream) -> None:
    """At its expiry, not before."""
    expiry = NOON + timedelta(seconds=10)
    bench.apply(stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "brief", expires_at=expiry)]))
    assert not bench.shard.sweep(now=NOW + 9_999_999)
    assert bench.shard.sweep(now=NOW + 10_000_000)
    assert bench.rows()[FIRST]["hidden"]


def test_the_sweep_shows_again_what_a_fast_clock_hid(bench: Bench, stream: Stream) -> None:
    """The clock of the writer was a day ahead, and is right again."""
    expiry = NOON + timedelta(hours=12)
    bench.apply(stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "brief", expires_at=expiry)]))
    bench.shard.sweep(now=NOW + 86_400_000_000)
    assert bench.rows()[FIRST]["hidden"]
    assert bench.shard.sweep(now=NOW)
    assert not bench.rows()[FIRST]["hidden"]
    assert not bench.shard.sweep(now=NOW)
