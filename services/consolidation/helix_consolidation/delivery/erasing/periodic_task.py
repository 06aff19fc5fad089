"""Runs one task at a time beside the writer's batches; the writer takes its result between two batches."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Generic, TypeVar

from helix_consolidation.delivery.pace import Interval
from helix_shared.broker.cancelling import cancel_all

if TYPE_CHECKING:
    from collections.abc import Coroutine

T = TypeVar("T")


class PeriodicTask(Generic[T]):
    """At most one task runs; the next may start `every_seconds` after the previous one started."""

    def __init__(self, every_seconds: float) -> None:
        self.running: asyncio.Task[T] | None = None
        self._due = Interval(every_seconds, 0.0)

    def is_due(self, now: float) -> bool:
        """Whether another one may begin."""
        return self.running is None and self._due.is_due(now)

    def start(self, work: Coroutine[None, None, T], now: float) -> None:
        """Begin."""
        self._due.last = now
        self.running = asyncio.create_task(work)

    def hurry(self) -> None:
        """Let the next task start at once."""
        self._due.last = 0.0

    def take(self) -> T | None:
        """The result of one that has ended, once.

        Raises: what it raised.
        """
        if self.running is None or not self.running.done():
            return None
        ended, self.running = self.running, None
        return ended.result()

    async def close(self) -> None:
        """End the one that is running."""
        if self.running is not None:
            await cancel_all([self.running])
