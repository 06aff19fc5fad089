"""Lanes: threads in which handlers work, so that the event loop stays free for heartbeats.

Python cannot cancel a thread. When the caller of `run` is cancelled, for example at its deadline, the thread
is abandoned: another thread replaces it, it counts as stuck until its work ends, and its result is dropped.
`worker` ends the process when too many threads are stuck.
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
from helix_shared.machine.panics import as_exception
from helix_shared.telemetry.logs import logger

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
        """Run `work` in the next free lane and return its result; jobs start in the order of the calls.

        The deadline of the calling handler starts with the job.

        Raises: what `work` raises; an `EnginePanicError` instead of what is no `Exception`. A RuntimeError
        where the system has no thread left.
        """
        with deadline.suspended():
            await self._free.acquire()
        try:
            lane = self._idle.pop() if self._idle else _Lane()
            done = lane.start(functools.partial(work, *args, **kwargs))
        except BaseException:  # no thread can be started: later jobs must not wait for this one
            self._free.release()
            raise
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
    """One daemon thread: a process that ends does not wait for it."""

    def __init__(self) -> None:
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        threading.Thread(target=self._work, daemon=True, name="lane").start()

    def start(self, work: Callable[[], Any]) -> asyncio.Future[Any]:
        """Start `work`; the future belongs to the calling loop."""
        loop = asyncio.get_running_loop()
        done = loop.create_future()
        self._jobs.put((work, loop, done))
        return done

    def end(self) -> None:
        """End the thread after its current job."""
        self._jobs.put(None)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            work, loop, done = job
            resolve = _outcome(work, done)
            # the loop may be closed
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(resolve)
            del job, work, done, resolve


def _outcome(work: Callable[[], Any], done: asyncio.Future[Any]) -> Callable[[], None]:
    """Do the work; returns a function that sets its result or exception on the future."""
    try:
        result = work()
    except BaseException as error:  # noqa: BLE001  raised again in the caller of `run`
        return functools.partial(done.set_exception, as_exception(error))
    return functools.partial(done.set_result, result)
