"""Erasures that follow each other leave the answers first; then their bytes leave the stores together."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from helix_consolidation.folding.changes import Changes
from helix_consolidation.folding.context import FoldContext
from helix_consolidation.folding.erasure import reading_ahead
from helix_consolidation.folding.erasure.quotations import remove_quotations
from helix_consolidation.ledger.event_reach import TENANT
from helix_consolidation.ledger.facts import FACTS
from helix_consolidation.ledger.indexes import SourceIndex
from helix_consolidation.ledger.lifecycle.erasures import Erasure
from helix_consolidation.stores import purge
from helix_shared.artifacts.generation.live_stores import Live
from helix_shared.artifacts.vectors.writer import VectorWriter
from helix_shared.identity import memory_id
from tests.unit.consolidation.conftest import NOON, Bench, Stream, row

from .test_erasure import WORD, erase, residue, told

SESSIONS = 12


@pytest.fixture
def purges(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows by one with every purge of a store that counts as large."""
    done: list[int] = []
    run = Live.purge

    def counted(live: Live) -> None:
        done.append(1)
        run(live)

    monkeypatch.setattr(Live, "purge", counted)
    monkeypatch.setattr(purge, "MOST_PURGED_FIRST", 1)
    return done


def test_a_purge_waits_while_every_generation_lacks_something_more(
    bench: Bench, stream: Stream, purges: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not longer than its bound: then it comes with a generation that lacks something new as well."""
    said, clock = told(bench, stream), 100.0
    monkeypatch.setattr(purge.time, "monotonic", lambda: clock)
    for sequence, event in ((4, "e1"), (5, "e3")):
        bench.apply(erase(sequence, memory_id("acme", event, 0)))
        bench.publish()
        assert memory_id("acme", event, 0) not in bench.rows()
        assert (purges, bench.shard.purge.has_work) == ([], True)
        clock += purge.WAITS_SECONDS / 2
    assert residue(bench, said) != {}, "the control: without the purge the bytes are there"
    bench.apply(erase(6, memory_id("acme", "e2", 0)))
    number = bench.publish().generation
    assert purges == [1]
    assert {one.clean_since["memories"] for one in bench.shard.state.erasures.open.values()} == {number}
    bench.shard.purge.retire(now=NOON, keep=1, min_age_seconds=0)
    assert residue(bench, said) == {}


def test_a_purge_comes_with_the_first_generation_that_lacks_nothing_more(
    bench: Bench, stream: Stream, purges: list[int]
) -> None:
    """No message has to come for it; and what was left of a large store is still one."""
    said = told(bench, stream)
    bench.apply(erase(4, of_session="s"))
    bench.publish()
    assert (purges, bench.shard.state.ledger.memories) == ([], 0)
    bench.publish()
    assert (purges, bench.shard.purge.is_due) == ([1], False)
    bench.shard.purge.retire(now=NOON, keep=1, min_age_seconds=0)
    assert residue(bench, said) == {}


@pytest.mark.parametrize("most", [reading_ahead.MOST_ROWS, 0])
def test_erasures_of_one_batch_read_the_table_together(
    bench: Bench, stream: Stream, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """Each alone reads four times; either way the same is left."""
    number = 0
    for session in range(SESSIONS):
        for turn in range(2):
            number += 1
            quoting = {"context": f"user: {WORD}", "quotes": [f"e{number - 1}"]} if turn else {}
            said = row("acme", f"e{number}", number, f"{WORD} {number}", session_id=f"s{session}", **quoting)
            bench.apply(stream.memories("acme", f"e{number}", number, [said]))
    bench.publish()
    reads: list[int] = []
    take = VectorWriter.take

    def counted(writer: VectorWriter, ordinals: Sequence[int], columns: Sequence[str] | None = None) -> Any:
        reads.append(len(ordinals))
        return take(writer, ordinals, columns)

    monkeypatch.setattr(VectorWriter, "take", counted)
    monkeypatch.setattr(reading_ahead, "MOST_ROWS", most)
    ids = [memory_id("acme", f"e{2 * session + 1}", 0) for session in range(SESSIONS)]
    bench.apply(*(erase(number + 1 + n, one) for n, one in enumerate(ids)))
    left = bench.rows()
    assert sorted(left) == sorted(memory_id("acme", f"e{2 * session + 2}", 0) for session in range(SESSIONS))
    assert {(one["context"], *one["quotes"]) for one in left.values()} == {("",)}
    assert {one.counts["contexts"] for one in bench.shard.state.erasures.open.values()} == {1}
    # one ahead; the others are what the blanked rows are written from
    assert (len(reads) <= 4) == bool(most), reads


def test_an_erasure_of_a_user_with_many_sessions_passes_over_the_memories_once(bench: Bench) -> None:
    """Once for each session it took 40 s for a thousand, among a million memories; nothing was applied."""
    facts = np.zeros(300_000, FACTS)
    facts["is_there"], facts["session"] = True, np.arange(len(facts)) // 100 + 1
    ledger = bench.shard.state.ledger
    ledger.fill(
        facts, ["acme"], [], corrects={}, sources=SourceIndex(), superseded_by={}, closed={}, digest=0
    )
    context = FoldContext(bench.shard.state, Changes(stored_before=0), 0, lambda *_: {})
    started = time.monotonic()
    remove_quotations(context, Erasure(1, 1, "acme", TENANT, "user"), range(2_000), {"e1"})
    assert time.monotonic() - started < 2
    assert ledger.of_sessions([3, 0]) == list(range(200, 300))
