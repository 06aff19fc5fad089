"""What more than a later memory hides has no `replaced_at`: no question about earlier times finds it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from nats.aio.msg import Msg

from helix_consolidation.stores.shard import Shard
from helix_consolidation.usage.decay import DecayRule
from helix_shared.artifacts.generation.reader import Generation
from helix_shared.artifacts.signals.columns import NO_TIME, UNDATED
from helix_shared.identity import statement_id
from tests.unit.consolidation.conftest import NOON, NOW, Bench, Stream, statement
from tests.unit.consolidation.slots import TENANT, decide_by_slot, ids, said

ID = ids(5)
RULE = DecayRule(after_seconds=30 * 86_400, most_salience=0.3)


@pytest.fixture
def slots(tmp_path: Path) -> Iterator[Bench]:
    """A shard that closes earlier values of a slot, and lets old memories decay."""
    bench = Bench(tmp_path, Shard.open(tmp_path, maintain_every=64, decide=decide_by_slot, decay=RULE))
    yield bench
    bench.shard.close()


def replaced_at(bench: Bench, memory: str) -> int:
    """The published signal of a memory."""
    ordinal = bench.rows()[memory]["ordinal"]
    with closing(Generation.open(bench.folder, bench.publish().generation)) as generation:
        return int(generation.signals.replaced_at[ordinal])


def with_statement(bench: Bench, stream: Stream) -> str:
    """Two turns of which the later closes the earlier, and a statement extracted from that; its id."""
    row = statement(TENANT, "e1", 1, "port 443 of the gateway", window=1) | {"links": []}
    bench.apply(
        said(stream, 1, "port 443"),
        stream.statements(TENANT, "e1", 1, [row]),
        said(stream, 2, "port 8080"),
    )
    return statement_id(ID[1], 0)


def withdrawn(stream: Stream) -> Msg:
    """A later message of the first event, which lacks its memory."""
    return stream.memories(TENANT, "e1", 1, [])


def test_what_only_a_later_memory_closed_is_dated(slots: Bench, stream: Stream) -> None:
    """The statement as its turn."""
    extracted = with_statement(slots, stream)
    assert {replaced_at(slots, ID[1]), replaced_at(slots, extracted)}.isdisjoint({NO_TIME, UNDATED})


def test_a_statement_of_a_corrected_turn_is_corrected(slots: Bench, stream: Stream) -> None:
    """Its own end does not count: the turn was never right."""
    extracted = with_statement(slots, stream)
    slots.apply(said(stream, 3, "host a", corrects=ID[1]))
    assert (replaced_at(slots, ID[1]), replaced_at(slots, extracted)) == (UNDATED, UNDATED)
    assert slots.rows()[extracted]["superseded_by"] == ID[3]


def test_what_its_event_withdrew_is_not_shown(slots: Bench, stream: Stream) -> None:
    """Neither a corrected turn nor a statement that something closed."""
    extracted = with_statement(slots, stream)
    slots.apply(said(stream, 3, "host a", corrects=ID[1]))
    slots.apply(withdrawn(stream))
    assert (replaced_at(slots, ID[1]), replaced_at(slots, extracted)) == (NO_TIME, NO_TIME)
    assert slots.rows()[extracted]["hidden"]


def test_what_decayed_stays_hidden_when_it_is_replaced(slots: Bench, stream: Stream) -> None:
    """And it is no longer counted as decayed."""
    old = NOON - timedelta(days=60)
    slots.apply(said(stream, 1, "port 443", type="episodic", salience=0.1, created_at=old))
    slots.apply(said(stream, 2, "name a"))
    slots.shard.sweep(now=NOW)
    assert slots.rows()[ID[1]]["decayed_at"] == old + timedelta(days=30)
    slots.apply(said(stream, 3, "port 8080"))
    assert slots.rows()[ID[1]]["superseded_by"] == ID[3]
    assert replaced_at(slots, ID[1]) == NO_TIME
    assert slots.publish().counts.decayed == 0
