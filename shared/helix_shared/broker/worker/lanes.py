"""Lanes: the threads in which handlers work, so that the event loop stays free for heartbeats.

Python cannot cancel a thread. When the caller of `run` is cancelled, as by its deadline, the thread is
abandoned: it counts as stuck until its work ends after all, its result is dropped, and another thread takes
its place, so that other messages go on. `worker` ends the process when too many are stuck.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import queue
import threading
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from helix_shared.broker import deadline
from helix_shared.telemetry import logger

P = ParamSpec("P")
T = TypeVar("T")
Job = tuple[Callable[[], Any], asyncio.AbstractEventLoop, "asyncio.Future[Any]"]

_log = logger(__name__)


class Lanes:
    """At most `count` jobs at once; used from one event loop."""

    def __init__(self, count: int) -> None:
        self._free = asyncio.Semaphore(count)
        self._idle: list[_Lane] = []
        self._stuck = 0

    @property
    def stuck(self) -> int:
        """Threads whose work was abandoned and has not ended."""
        return self._stuck

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The result of `work` in the next free lane; jobs begin in the order of the calls.

        The deadline of the calling handler starts when the job does.

        Raises: what `work` raises.
        """
        with deadline.suspended():
            await self._free.acquire()
        lane = self._idle.pop() if self._idle else _Lane()
        done = lane.begin(functools.partial(work, *args, **kwargs))
        try:
            result: T = await asyncio.shield(done)
        finally:
            if done.done():
                self._idle.append(lane)
            else:
                self._abandon(lane, done)
            self._free.release()
        return result

    def _abandon(self, lane: _Lane, done: asyncio.Future[Any]) -> None:
        self._stuck += 1
        done.add_done_callback(self._recover)
        lane.end()

    def _recover(self, done: asyncio.Future[Any]) -> None:
        self._stuck -= 1
        failure = done.exception()
        _log.warning("abandoned work ended", failure="" if failure is None else type(failure).__name__)


class _Lane:
    """One thread; a daemon, because a process that ends must not wait for what never does."""

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        threading.Thread(target=self._work, daemon=True, name="lane").start()

    def begin(self, work: Callable[[], Any]) -> asyncio.Future[Any]:
        """Start `work`; the future is set in the calling loop."""
        loop = asyncio.get_running_loop()
        done = loop.create_future()
        self._jobs.put((work, loop, done))
        return done

    def end(self) -> None:
        """End the thread after the job it may still have."""
        self._jobs.put(None)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            work, loop, done = job
            settle = _outcome(work, done)
            # the loop may be over by now
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(settle)
            del job, work, done, settle


def _outcome(work: Callable[[], Any], done: asyncio.Future[Any]) -> Callable[[], None]:
    """Do the work; what tells the future how it ended."""
    try:
        result = work()
    except BaseException as error:  # noqa: BLE001  raised again where the job came from
        return functools.partial(done.set_exception, error)
    return functools.partial(done.set_result, result)
