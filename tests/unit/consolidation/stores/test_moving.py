"""A tenant that comes to a shard by its log is what it was, also when it comes back."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from nats.aio.msg import Msg

from helix_consolidation.folding.incoming.decode import decode
from helix_consolidation.stores.moving.replaying import tenant_log
from helix_consolidation.stores.shard import Shard
from helix_memory import subjects
from helix_memory.sharding import hashed_shard
from helix_shared.shard_map import ShardMap, ShardPlace
from tests.examples import seeds
from tests.unit.consolidation.conftest import NOW, Bench, Stream, message, row
from tests.unit.consolidation.histories import TENANT, History, applied, in_log_order, state

EVENTS = 40
SOURCE = hashed_shard(TENANT, 2)
TARGET = 1 - SOURCE
STAYS = next(f"stays{n}" for n in range(99) if hashed_shard(f"stays{n}", 2) == TARGET)
BEFORE = ShardMap(shards=2, starts=(0, 0))
PLACED = BEFORE.placing(TENANT, TARGET)
MOVED = BEFORE.moving(TENANT, TARGET, sequence=EVENTS)


def _bench(folder: Path, shard: int, found: ShardMap = BEFORE) -> Bench:
    return Bench(folder, Shard.open(folder, maintain_every=64, place=ShardPlace(shard=shard, map=found)))


def _replay(bench: Bench, messages: Sequence[Msg], random: Random) -> None:
    """Apply the log of the tenant in batches of whole events."""
    of_event: dict[int, list[Msg]] = {}
    for one in in_log_order(list(messages)):
        of_event.setdefault(decode(one, log_end=EVENTS).order[0], []).append(one)
    with tenant_log(bench.shard) as log:
        events = sorted(of_event)
        while events:
            size = random.randrange(1, 9)
            some, events = events[:size], events[size:]
            log.apply([one for event in some for one in of_event[event]], until=some[-1], now=NOW)
        log.end(until=EVENTS, now=NOW)


def _again(messages: Sequence[Msg], after: int) -> list[Msg]:
    """What the workers publish late: the same derived messages, with later numbers; and every event."""
    return [
        message(
            one.metadata.stream,
            one.subject,
            one.data,
            after + one.metadata.sequence.stream,
            headers=one.headers,
        )
        if one.metadata.stream == subjects.DERIVED_STREAM
        else one
        for one in messages
    ]


def _whole(found: dict[str, Any]) -> dict[str, Any]:
    """Without positions, and the order in which events were carried out the last time."""
    tombstones = found["tombstones"] | {"executed": dict(found["tombstones"]["executed"])}
    return {name: value for name, value in found.items() if name != "sequences"} | {"tombstones": tombstones}


@pytest.mark.parametrize("seed", seeds(4, part=2))
def test_a_tenant_comes_into_a_shard_that_passed_it_by(tmp_path: Path, seed: int) -> None:
    """The stores are those of a writer that had it all along, whatever the workers publish late."""
    history = History.of(seed, EVENTS)
    wanted = applied(in_log_order(history.messages), Random(seed))
    bench = _bench(tmp_path, TARGET)
    bench.apply(*history.messages, log_end=EVENTS)
    assert bench.shard.state.ledger.size == 0
    applied_before = bench.shard.state.applied
    bench.shard.take_place(ShardPlace(shard=TARGET, map=PLACED))
    _replay(bench, history.messages, Random(seed))
    assert bench.shard.state.applied is applied_before
    bench.shard.take_place(ShardPlace(shard=TARGET, map=MOVED))
    if bench.shard.can_publish:
        # what is remembered is what a generation holds
        bench.publish()
        bench.shard.close()
        bench = _bench(tmp_path, TARGET, MOVED)
    late = _again(history.messages, history.stream.last)
    while late:
        outcome = bench.apply(*late[:7], log_end=EVENTS)
        late = [*late[7:], *(one for one, _ in outcome.postponed)]
    assert _whole(state(bench)) == _whole(wanted)
    bench.shard.close()


def test_a_map_that_was_made_anew_removes_nothing(tmp_path: Path) -> None:
    """An operator who lost the map must not lose the memories of a shard, too: it names no move."""
    bench, history = _bench(tmp_path, SOURCE), History.of(1, EVENTS)
    bench.apply(*in_log_order(history.messages), log_end=EVENTS)
    bench.publish()
    before = bench.rows()
    assert before
    bench.shard.close()
    bench = _bench(tmp_path, SOURCE, PLACED)
    assert bench.shard.drop_foreign(now=NOW) == []
    assert bench.rows() == before
    bench.shard.take_place(ShardPlace(shard=SOURCE, map=MOVED))
    assert bench.shard.drop_foreign(now=NOW) == [TENANT]
    bench.shard.close()


def test_another_tenant_of_the_shard_is_not_touched(tmp_path: Path, stream: Stream) -> None:
    """Neither its memories nor what waits for its events, while one comes and goes."""
    bench = _bench(tmp_path, TARGET)
    bench.apply(
        stream.memories(STAYS, "e1", 1, [row(STAYS, "e1", 1, "stays")]),
        stream.memories(
            STAYS,
            "e3",
            3,
            [row(STAYS, "e3", 3, "waits for two", corrects=row(STAYS, "e1", 1, "")["memory_id"])],
        ),
        log_end=EVENTS,
    )
    before = bench.rows()
    positions = bench.shard.state.applied.to_json(), bench.shard.state.derived.to_json()
    history = History.of(1, EVENTS)
    bench.shard.take_place(ShardPlace(shard=TARGET, map=PLACED))
    _replay(bench, history.messages, Random(1))
    assert len(bench.rows()) > len(before)
    bench.shard.take_place(ShardPlace(shard=TARGET, map=BEFORE))
    assert bench.shard.drop_foreign(now=NOW) == [TENANT]
    assert bench.rows() == before
    assert (bench.shard.state.applied.to_json(), bench.shard.state.derived.to_json()) == positions
    bench.shard.close()


def test_without_the_map_of_the_move_late_messages_count_twice(tmp_path: Path) -> None:
    """The control of the first test: feedback is added again, and statements are decided about again."""

    def differs(seed: int) -> bool:
        history, folder = History.of(seed, EVENTS), tmp_path / str(seed)
        wanted = applied(in_log_order(history.messages), Random(seed))
        bench = _bench(folder, TARGET, PLACED)
        _replay(bench, history.messages, Random(seed))
        bench.apply(*_again(history.messages, history.stream.last), log_end=EVENTS)
        found = state(bench)
        bench.shard.close()
        return _whole(found) != _whole(wanted)

    assert any(map(differs, range(3)))
