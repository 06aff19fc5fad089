"""Runs the tasks of a call on the current generation, and returns the result or error of each.

A call keeps its slot until its last thread has ended, so abandoned calls cannot pile up. One that waits for
an event holds a reserved slot: it takes none from other calls, and is not refused after the wait.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, Future
from contextlib import ExitStack, suppress
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from helix_query.scheduling.deadline import PASSED_IN_QUEUE, seconds_left
from helix_query.scheduling.fair_executor import FairExecutor
from helix_query.scheduling.tenant_limits import TenantLimits
from helix_shared.errors import PASSED, OtherShardError, OverdueError, TemporaryError

if TYPE_CHECKING:
    from helix_query.generations.shards.source import Hold, ShardSource
    from helix_query.generations.snapshot import Snapshot, SnapshotSource
    from helix_query.scheduling.fair_queue import Task

T = TypeVar("T")
SnapshotTask = Callable[["Snapshot", Mapping[str, Executor]], T]
"""A task of a call: takes the snapshot, and the executor of each lane."""
FIRST_WAIT_SECONDS: Final = 0.02
LONGEST_WAIT_SECONDS: Final = 0.5
"""Between two looks for a tenant that moves between two shards of this process; doubled from the first."""


class Calls:
    """Submits tasks to `executor`, all tasks of a call on one generation of the shard of its tenant.

    A deadline `until` is a moment of the monotonic clock.
    """

    def __init__(
        self,
        shards: ShardSource,
        executor: FairExecutor,
        limits: TenantLimits,
        *,
        channel_deadline_seconds: float,
    ) -> None:
        self._shards = shards
        self._executor = executor
        self._limits = limits
        self._channel_deadline_seconds = channel_deadline_seconds

    async def one(
        self,
        rpc: str,
        tenant: str,
        task: SnapshotTask[T],
        until: float,
        *,
        min_seq: int = 0,
        answering_seconds: float = 0.0,
    ) -> T:
        """The result of one task, once the generation has event `min_seq`.

        `answering_seconds`: time that is left for the task where possible, up to half of all.

        Raises:
            OverloadedError: there are too few slots and no call to drop.
            OverdueError: `until` has passed.
            HelixError: what the task raised.
        """
        _, [outcome] = await self.several(
            rpc,
            tenant,
            lambda _: [task],
            until,
            count=1,
            min_seq=min_seq,
            answering_seconds=answering_seconds,
        )
        return result_of(outcome)

    async def several(
        self,
        rpc: str,
        tenant: str,
        tasks: Callable[[float], Sequence[SnapshotTask[T]]],
        until: float,
        *,
        count: int,
        min_seq: int,
        answering_seconds: float = 0.0,
    ) -> tuple[int, list[T | BaseException]]:
        """The generation, and the results or errors of `count` tasks on it, once it has event `min_seq`.

        Waits for that event until only answering time is left. `tasks` takes the seconds waited.

        Raises:
            OverloadedError: there are too few slots and no call to drop, or the tenant reached a limit.
            OtherShardError: the tenant lies in another shard.
        """
        with self._limits.admitted(tenant, count):
            seconds, wait = max(answering_seconds, self._channel_deadline_seconds * count), FIRST_WAIT_SECONDS
            while True:
                try:
                    with self._shards.hold(tenant) as shard:
                        return await self._on_shard(
                            shard,
                            rpc,
                            tenant,
                            tasks,
                            until,
                            count=count,
                            min_seq=min_seq,
                            answering_seconds=seconds,
                        )
                except OtherShardError as error:
                    if not self._shards.serves(error.shard) or seconds_left(until) < wait:
                        raise
                # one of the two does not serve the generation of after the move yet
                await asyncio.sleep(wait)
                wait = min(2 * wait, LONGEST_WAIT_SECONDS)

    async def _on_shard(
        self,
        shard: Hold,
        rpc: str,
        tenant: str,
        tasks: Callable[[float], Sequence[SnapshotTask[T]]],
        until: float,
        *,
        count: int,
        min_seq: int,
        answering_seconds: float,
    ) -> tuple[int, list[T | BaseException]]:
        current = shard.current
        if shard.is_loaded and current.progress.has_reached(min_seq):
            generation, futures = self._submit(current, rpc, tenant, tasks(0.0), until)
            # they lease the generation
            shard.release()
            return generation, await _outcomes(futures, until)
        with self._executor.reserved(count):
            started = time.monotonic()
            answered_by = until - min(answering_seconds, (until - started) / 2)
            await shard.loaded(answered_by)
            _require_tenant(current, tenant)
            if not current.progress.has_reached(min_seq):
                await current.progress.reach(min_seq, seconds=seconds_left(answered_by))
            waited = tasks(time.monotonic() - started)
            generation, futures = self._submit(current, rpc, tenant, waited, until, reserved=True)
            shard.release()
            return generation, await _outcomes(futures, until)

    def _submit(
        self,
        current: SnapshotSource,
        rpc: str,
        tenant: str,
        tasks: Sequence[SnapshotTask[T]],
        until: float,
        *,
        reserved: bool = False,
    ) -> tuple[int, list[Future[T]]]:
        """Submit tasks on the current generation, which is leased until their last thread ends."""
        with ExitStack() as lease:
            snapshot = lease.enter_context(current.lease())
            snapshot.require_tenant(tenant)
            bound: list[Task] = [partial(task, snapshot) for task in tasks]
            release = lease.pop_all().close
        try:
            futures = self._executor.submit(
                tenant, bound, until=until, rpc=rpc, reserved=reserved, on_end=release
            )
        except BaseException:
            release()
            raise
        return snapshot.number, futures


def _require_tenant(current: SnapshotSource, tenant: str) -> None:
    """Refuse a tenant of another shard before it waits; where there is no generation yet, it waits."""
    with suppress(TemporaryError), current.lease() as snapshot:
        snapshot.require_tenant(tenant)


async def _outcomes(futures: Sequence[Future[T]], until: float) -> list[T | BaseException]:
    """The results or errors of futures; OverdueError for those not done by `until`."""
    waiting = [asyncio.wrap_future(one) for one in futures]
    try:
        if waiting:
            await asyncio.wait(waiting, timeout=seconds_left(until))
    finally:
        # a queued call frees its slot now, a running one when its threads end
        for future, one in zip(futures, waiting, strict=True):
            future.cancel()
            one.cancel()
    return list(map(_outcome, futures, waiting))


def _outcome(future: Future[T], waiting: asyncio.Future[T]) -> T | BaseException:
    if not waiting.cancelled():
        return waiting.exception() or waiting.result()
    return OverdueError(PASSED_IN_QUEUE if future.cancelled() else PASSED)


def result_of(outcome: T | BaseException) -> T:
    """The result; raises the error."""
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome
