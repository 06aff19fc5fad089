"""Stores that are built anew keep what was erased before; an erasure of nothing has nothing to wait for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from helix_consolidation.ledger.lifecycle.erasures import IN_QUOTATIONS, IN_STORES, IN_STREAMS
from helix_consolidation.stores.erased_before import remember_erased, take_over_erasures
from helix_memory.events import EraseEvent
from helix_shared.artifacts.erasures.receipts import Receipts
from helix_shared.artifacts.generation.folders import folder_of
from tests.unit.consolidation.conftest import Bench, Stream, lifecycle, row


def erase(sequence: int, **fields: Any) -> Any:
    """An erase event of tenant acme."""
    return lifecycle(EraseEvent(event_id=f"x{sequence}", tenant_id="acme", **fields), sequence)


def erased(bench: Bench, stream: Stream) -> dict[str, Any]:
    """A generation with two memories, one of which was erased; returns the other row."""
    kept, gone = row("acme", "e1", 1, "It rains in Porto"), row("acme", "e2", 2, "The safe opens with 4711")
    bench.apply(stream.memories("acme", "e1", 1, [kept]), stream.memories("acme", "e2", 2, [gone]))
    bench.apply(erase(3, memory_ids=[gone["memory_id"]]))
    return kept


@pytest.mark.parametrize("remembers", [True, False])
def test_an_erased_id_stays_away_from_stores_that_are_built_anew(
    make_bench: Callable[[], Bench], stream: Stream, *, remembers: bool
) -> None:
    """The log has lost the event, so only the generation of before knows its id; the control forgets it."""
    before, anew = make_bench(), make_bench()
    kept = erased(before, stream)
    number = before.publish().generation
    if remembers:
        remember_erased(anew.shard.state, folder_of(before.folder, number))
    again = row("acme", "e2", 4, "The safe opens with 4711")
    replayed = Stream()
    anew.apply(replayed.memories("acme", "e1", 1, [kept]), replayed.memories("acme", "e2", 4, [again]))
    assert (again["memory_id"] in anew.rows()) is not remembers
    assert kept["memory_id"] in anew.rows()
    assert anew.shard.state.erasures.republished == ({4: "acme"} if remembers else {})


@pytest.mark.parametrize("is_done", [True, False])
def test_receipts_and_unfinished_work_are_taken_over(
    make_bench: Callable[[], Bench], stream: Stream, *, is_done: bool
) -> None:
    """A receipt that is complete stays so; otherwise the next writer finishes what the last one had left."""
    before, anew = make_bench(), make_bench()
    kept = erased(before, stream)
    before.publish()
    if is_done:
        before.shard.state.erasures.open[3].mark_clean(IN_STREAMS, 2)
        left = (*IN_QUOTATIONS, "generations", "context_vectors", "backups")
        before.shard.state.erasures.open[3].mark_clean(left, 2)
    number = before.publish().generation
    anew.apply(Stream().memories("acme", "e1", 1, [kept]))
    take_over_erasures(anew.shard, folder_of(before.folder, number))
    opened = anew.shard.state.erasures.open
    assert (3 in opened) is not is_done
    assert is_done or opened[3].events == {2}
    receipt = Receipts.open(folder_of(anew.folder, anew.publish().generation)).find("acme", "x3")
    assert receipt is not None
    assert receipt.is_complete is is_done
    assert receipt.places["memories"].count == 1


def test_an_erasure_that_reaches_no_memory_has_nothing_to_purge(bench: Bench, stream: Stream) -> None:
    """Its events without memories leave the log at once: nothing of them is in the stores."""
    bench.apply(stream.memories("acme", "e1", 1, [row("acme", "e1", 1, "It rains in Porto")]))
    bench.publish()
    bench.apply(erase(2, of_session="empty"))
    bench.publish()
    assert set(IN_STORES) <= set(bench.shard.state.erasures.open[2].clean_since)
