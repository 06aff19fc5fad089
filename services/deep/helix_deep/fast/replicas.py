"""Calls from an event loop over several query services of one shard, by the rules of the client's.

`helix_memory.transport.replicas` says which replica is asked, and when a second one.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

import grpc

from helix_memory.transport.replicas import ReplicaChoice, more_telling, seconds_to, tenant_of

if TYPE_CHECKING:
    from collections.abc import Iterator


class ReplicatedStub:
    """The calls of `RecallServiceStub`, over a stub for each replica; used from one event loop."""

    def __init__(self, stubs: Sequence[Any]) -> None:
        self._stubs = tuple(stubs)
        self._choice = ReplicaChoice(len(self._stubs))

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        async def call(request: Any, *, timeout: float, metadata: Any = None) -> Any:  # noqa: ASYNC109  as a stub
            running = _Running(self._stubs, name, request, time.monotonic() + timeout, metadata)
            try:
                return await self._first_reply(running)
            finally:
                await running.cancel()

        return call

    async def _first_reply(self, running: _Running) -> Any:
        """The first reply, else the most telling error of the replicas that were asked.

        Raises:
            grpc.aio.AioRpcError: what a replica refuses, or that none answers.
        """
        began, choice = time.monotonic(), self._choice
        hedge_at = began + choice.hedge_seconds(running.name, running.request)
        others = choice.order(tenant_of(running.request))
        running.ask(next(others))
        error: grpc.RpcError | None = None
        while True:
            ended = await running.first_ended(seconds_to(hedge_at))
            if ended is None:
                hedge_at = math.inf
                _ask_next(running, others if choice.may_hedge() else iter(()))
                continue
            replica, task = ended
            try:
                reply = task.result()
            except grpc.aio.AioRpcError as failure:
                choice.require_elsewhere(replica, failure)
                error = more_telling(error, failure)
                if not _ask_next(running, others) and not running.replicas:
                    raise error from None
                continue
            seconds = time.monotonic() - began
            choice.note_reply(running.name, seconds, replica, overtaken=running.replicas)
            return reply


class _Running:
    """One request, under way at the replicas that were asked for it."""

    def __init__(self, stubs: Sequence[Any], name: str, request: Any, until: float, metadata: Any) -> None:
        self.name = name
        self.request = request
        self._stubs = stubs
        self._until = until
        self._metadata = metadata
        self._tasks: dict[asyncio.Task[Any], int] = {}

    @property
    def replicas(self) -> list[int]:
        """Those that have not answered yet."""
        return list(self._tasks.values())

    def ask(self, replica: int) -> None:
        """Begin the call to a replica."""
        self._tasks[asyncio.create_task(self._asked(replica))] = replica

    async def first_ended(self, seconds: float | None) -> tuple[int, asyncio.Task[Any]] | None:
        """A replica and its ended call; None: none ended in so many seconds."""
        done, _ = await asyncio.wait(self._tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if not done:
            return None
        task = done.pop()
        return self._tasks.pop(task), task

    async def cancel(self) -> None:
        """End the calls that nobody waits for any more."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _asked(self, replica: int) -> Any:
        call = getattr(self._stubs[replica], self.name)
        seconds = max(0.0, self._until - time.monotonic())
        return await call(self.request, timeout=seconds, metadata=self._metadata)


def _ask_next(running: _Running, others: Iterator[int]) -> bool:
    """Ask the next replica; False: there is none."""
    replica = next(others, None)
    if replica is None:
        return False
    running.ask(replica)
    return True
