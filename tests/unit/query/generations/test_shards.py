"""Shards under one memory budget, over generations that only count: who is loaded, evicted, waited for."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from helix_memory.sharding import hashed_shard
from helix_query.generations.shards.shard import Shard
from helix_query.generations.shards.shards import Shards
from helix_query.scheduling.progress import Progress
from helix_shared.errors import LoadingError, OtherShardError, TemporaryError
from helix_shared.shard_map import ShardMap, ShardPlace

MAP = ShardMap(shards=3, starts=(0, 0, 0))
TENANTS = [next(f"t{n}" for n in range(99) if hashed_shard(f"t{n}", 3) == shard) for shard in range(3)]
FOREVER = 60.0


class Generations:
    """What `Shard` loads: `starts` counts, leases keep it open."""

    def __init__(self) -> None:
        self.progress = Progress()
        self.cross_encoders: dict[str, Any] = {}
        self.starts = 0
        self.leases = 0
        self.number = 0
        self.may_start = threading.Event()
        self.may_start.set()

    @property
    def is_open(self) -> bool:
        """Whether it is served, or leased still."""
        return bool(self.number or self.leases)

    def is_refused(self, _number: int) -> bool:
        """Never."""
        return False

    def retry(self) -> None:
        """Nothing."""

    def start(
        self, on_first: Callable[[], None] = lambda: None, on_tried: Callable[[], None] = lambda: None
    ) -> None:
        """Serve as soon as it may."""
        self.starts += 1

        def serve() -> None:
            self.may_start.wait(FOREVER)
            self.number = 1
            on_first()
            on_tried()

        threading.Thread(target=serve, daemon=True).start()

    def close(self) -> None:
        """Serve nothing."""
        self.number = 0

    @contextmanager
    def lease(self) -> Iterator[Any]:
        """One lease."""
        if not self.number:
            raise TemporaryError("nothing is served")
        self.leases += 1
        try:
            yield SimpleNamespace(number=1)
        finally:
            self.leases -= 1


class Known(Shard):
    """A shard whose newest generation is known, of `size` bytes."""

    def __init__(self, number: int, size: int, map_: ShardMap = MAP) -> None:
        self.generations = Generations()
        super().__init__(number, None, self.generations)  # type: ignore[arg-type]  # nothing is read
        self.size = size
        self.place = ShardPlace(shard=number, map=map_)

    def refresh(self) -> bool:
        """Nothing is new."""
        return False

    @property
    def load_bytes(self) -> int:
        """Bytes that it would take."""
        return self.size


def shards_of(*known: Known, budget: int, idle_seconds: float = 0) -> Shards:
    """They refresh only when a test says so."""
    return Shards(known, budget_bytes=budget, idle_seconds=idle_seconds, poll_seconds=FOREVER)


def load(shards: Shards, tenant: str) -> None:
    """As a call does that ends at once."""

    async def call() -> None:
        with shards.hold(tenant) as hold:
            await hold.loaded(time.monotonic() + FOREVER)

    asyncio.run(call())


def loaded(*known: Known) -> list[int]:
    """Numbers of the loaded ones."""
    return [one.number for one in known if one.is_loaded]


@pytest.fixture
def three() -> list[Known]:
    """Shards of ten bytes each."""
    return [Known(number, 10) for number in range(3)]


def test_a_shard_is_loaded_by_the_first_call_for_it(three: list[Known]) -> None:
    """And by no other."""
    shards = shards_of(*three, budget=100)
    assert loaded(*three) == []
    load(shards, TENANTS[1])
    load(shards, TENANTS[1])
    assert loaded(*three) == [1]
    assert three[1].generations.starts == 1


def test_calls_that_wait_share_one_load(three: list[Known]) -> None:
    """One of them gives up meanwhile, which ends the wait of no other."""
    shards, generations = shards_of(*three, budget=100), three[0].generations
    generations.may_start.clear()

    async def calls() -> list[Any]:
        async def call(seconds: float) -> None:
            with shards.hold(TENANTS[0]) as hold:
                await hold.loaded(time.monotonic() + seconds)

        late = await asyncio.gather(call(0.01), return_exceptions=True)
        waiting = [asyncio.create_task(call(FOREVER)) for _ in range(5)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        generations.may_start.set()
        return [*late, *await asyncio.gather(*waiting, return_exceptions=True)]

    late, cancelled, *others = asyncio.run(calls())
    assert isinstance(late, LoadingError)
    assert late.shard == 0
    assert isinstance(cancelled, asyncio.CancelledError)
    assert others == [None] * 4
    assert generations.starts == 1
    assert three[0].holds == 0


def test_the_one_not_asked_for_the_longest_goes(three: list[Known]) -> None:
    """Two of three fit."""
    shards = shards_of(*three, budget=25)
    for shard in (0, 1, 0, 2):
        load(shards, TENANTS[shard])
    assert loaded(*three) == [0, 2]
    assert sum(one.resident_bytes for one in three) == 20


def test_a_held_shard_stays_and_the_other_waits(three: list[Known]) -> None:
    """It is evicted once the hold is released."""
    shards = shards_of(*three, budget=15)
    load(shards, TENANTS[0])
    hold = shards.hold(TENANTS[0])
    waiting = shards.load(three[1])
    with pytest.raises(TimeoutError):
        waiting.result(0.1)
    assert loaded(*three) == [0]
    hold.release()
    hold.release()
    waiting.result(FOREVER)
    assert loaded(*three) == [1]
    assert three[0].holds == 0


def test_a_leased_generation_counts_until_its_lease_ends(three: list[Known]) -> None:
    """Its shard is evicted at once; the other is loaded when its memory is free."""
    shards = shards_of(*three, budget=15)
    load(shards, TENANTS[0])
    with three[0].generations.lease():
        waiting = shards.load(three[1])
        with pytest.raises(TimeoutError):
            waiting.result(0.1)
        assert loaded(*three) == []
        assert three[0].resident_bytes == 10
    waiting.result(FOREVER)
    assert sum(one.resident_bytes for one in three) == 10


def test_two_that_wait_for_memory_do_not_wait_for_each_other(three: list[Known]) -> None:
    """Each is loaded in the end, as is the one that both of them evict."""
    shards = shards_of(*three, budget=15)
    load(shards, TENANTS[0])
    waiting = [shards.load(three[shard]) for shard in (1, 2)]
    waiting.append(shards.load(three[0]))
    for one in waiting:
        one.result(FOREVER)
    assert len(loaded(*three)) == 1


def test_a_shard_larger_than_the_budget_is_loaded_alone(three: list[Known]) -> None:
    """Refusing it would end the service of its tenants for a setting."""
    three[1].size = 50
    shards = shards_of(*three, budget=25)
    load(shards, TENANTS[0])
    load(shards, TENANTS[1])
    assert loaded(*three) == [1]
    shards.refresh()
    assert loaded(*three) == [1]


def test_a_generation_that_grew_evicts_others(three: list[Known]) -> None:
    """The next refresh finds that the budget is passed."""
    shards = shards_of(*three, budget=25)
    load(shards, TENANTS[0])
    load(shards, TENANTS[1])
    three[1].size = 20
    shards.refresh()
    assert loaded(*three) == [1]


def test_an_idle_shard_goes(three: list[Known]) -> None:
    """Not the one that was asked for."""
    shards = shards_of(*three, budget=100, idle_seconds=1000)
    load(shards, TENANTS[0])
    load(shards, TENANTS[1])
    three[0].last_used_at -= 2000
    shards.refresh()
    assert loaded(*three) == [1]


def test_a_tenant_of_another_process_is_named(three: list[Known]) -> None:
    """With the shard that has it."""
    shards = shards_of(*three[:2], budget=100)
    with pytest.raises(OtherShardError) as refused:
        shards.hold(TENANTS[2])
    assert refused.value.shard == 2
    assert not shards.serves(2)


@pytest.mark.parametrize("tenant", TENANTS[:2])
def test_a_tenant_that_moved_back_is_where_the_later_move_says(three: list[Known], tenant: str) -> None:
    """The shard that it left has the map of the first move until its writer publishes again."""
    there, back = TENANTS.index(tenant), 1 - TENANTS.index(tenant)
    first = MAP.moving(tenant, back, sequence=7)
    second = first.moving(tenant, there, sequence=9)
    shards = Shards(three, budget_bytes=300, idle_seconds=0)
    three[back].place = ShardPlace(shard=back, map=first)
    three[there].place = ShardPlace(shard=there, map=second)
    assert shards._tenant_shards.shard_of(tenant) == there


def test_a_moved_tenant_is_where_the_newer_map_says(three: list[Known]) -> None:
    """While the shard that it left still has the older map; until both say otherwise."""
    shards = shards_of(*three, budget=100)
    moved = MAP.moving(TENANTS[0], 1, sequence=7)
    shards.hold(TENANTS[0]).release()
    assert three[0].holds == 0
    three[1].place = ShardPlace(shard=1, map=moved)
    shards._tenant_shards.clear()
    assert shards._tenant_shards.shard_of(TENANTS[0]) == 1
    three[1].place, three[0].place = ShardPlace(shard=1, map=MAP), ShardPlace(shard=0, map=moved)
    shards._tenant_shards.clear()
    with pytest.raises(OtherShardError):
        shards.hold(TENANTS[0])
