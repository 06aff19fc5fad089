"""The one thread that works on the stores, with a deadline for each piece of work."""

from __future__ import annotations

import asyncio
import functools
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from helix_shared.broker.worker.watchdog import end_at_once

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import ThreadPoolExecutor

P = ParamSpec("P")
T = TypeVar("T")


class StoreThread:
    """Runs one piece of work at a time, so that the event loop stays free for heartbeats and the lease."""

    def __init__(self, executor: ThreadPoolExecutor, *, deadline_seconds: float) -> None:
        self._executor = executor
        self._deadline_seconds = deadline_seconds

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `work` in the thread.

        Work past its deadline ends the process at once: the thread cannot be used again, and the lease must
        not be released while the work may still go on.
        """
        loop = asyncio.get_running_loop()
        timer = asyncio.timeout(self._deadline_seconds)
        try:
            async with timer:
                return await loop.run_in_executor(self._executor, functools.partial(work, *args, **kwargs))
        except TimeoutError:
            if timer.expired():
                end_at_once(
                    f"{work.__name__} did not end within its deadline of {self._deadline_seconds:g} s"
                )
            raise
