"""Counting accesses on real stores."""

from typing import Any

import numpy as np

from helix_memory import subjects
from helix_memory.events import FeedbackEvent
from helix_shared.accesses import AccessedMemory, encode_accesses
from helix_shared.artifacts.generation.reader import Generation
from tests.unit.consolidation.conftest import FIRST, NOON, NOW, SECOND, Bench, Stream, lifecycle, message, row


def accesses(*memories: AccessedMemory, sequence: int, tenant: str = "acme") -> Any:
    """A message of the forwarder."""
    body = encode_accesses(memories)
    return message(subjects.ACCESS_STREAM, subjects.access_subject(tenant), body, sequence)


def test_a_message_that_comes_twice_counts_once(bench: Bench, stream: Stream) -> None:
    """Also after a restart, and the time is at most that of the server."""
    bench.apply(stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "the shelf is oak")]))
    served = accesses(AccessedMemory(FIRST, 3, NOW + 10**12), sequence=5)
    assert bench.shard.apply_accesses([served, served], now=NOW)
    bench.publish()
    bench = bench.reopened()
    assert not bench.shard.apply_accesses([served], now=NOW)
    stored = bench.rows()[FIRST]
    assert (stored["access_count"], stored["last_accessed_at"]) == (3, NOON)
    assert bench.shard.state.ledger.facts["accesses"][0] == 3
    bench.shard.close()


def test_a_stream_that_was_created_again_counts_from_its_start(bench: Bench, stream: Stream) -> None:
    """Its sequences begin at 1 again."""
    bench.apply(stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "the shelf is oak")]))
    bench.shard.state.set_access_stream("monday")
    bench.shard.apply_accesses([accesses(AccessedMemory(FIRST, 1, NOW), sequence=9)], now=NOW)
    bench.shard.state.set_access_stream("tuesday")
    bench.shard.apply_accesses([accesses(AccessedMemory(FIRST, 1, NOW), sequence=1)], now=NOW)
    assert bench.rows()[FIRST]["access_count"] == 2


def test_unknown_foreign_and_malformed_accesses_change_nothing(bench: Bench, stream: Stream) -> None:
    """A message of another tenant does not reach the memory, and a broken one does not stop the writer."""
    bench.apply(stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "the shelf is oak")]))
    broken = message(subjects.ACCESS_STREAM, subjects.access_subject("acme"), b'{"version":1}', 3)
    messages = [
        accesses(AccessedMemory(FIRST, 1, NOW), sequence=1, tenant="other"),
        accesses(AccessedMemory(SECOND, 1, NOW), sequence=2),
        broken,
    ]
    assert not bench.shard.apply_accesses(messages, now=NOW)
    assert bench.rows()[FIRST]["access_count"] == 0


def test_use_moves_the_salience_that_recall_reads_within_bounds(bench: Bench, stream: Stream) -> None:
    """Serving moves it by at most .05, feedback by at most .25; the salience of ingest is kept."""
    bench.apply(
        *(stream.memories("acme", f"e{n}", n, [row("acme", f"e{n}", n, f"text {n}")]) for n in (1, 2, 3))
    )
    bench.shard.apply_accesses([accesses(AccessedMemory(FIRST, 1_000_000, NOW), sequence=1)], now=NOW)
    opinions = (
        lifecycle(FeedbackEvent(event_id=f"f{n}", tenant_id="acme", unhelpful=[SECOND]), 3 + n)
        for n in range(1, 50)
    )
    bench.apply(*opinions)
    generation = Generation.open(bench.folder, bench.publish().generation)
    moves = generation.signals.salience_move
    assert 0.049 < moves[0] <= 0.05
    assert -0.25 <= moves[1] < -0.2
    assert moves[2] == 0
    assert np.array_equal(generation.signals.salience, np.full(3, 0.5, np.float32))
    generation.close()
