"""Runs the calls of the fair queue on threads, and accounts for every thread until it ends.

A call has a thread of its own and further ones for its channels. It keeps its place until all of them have
ended, whether or not somebody still waits for its answer. When the call itself ends first, the channel
threads that are left are late: they are replaced at once, so that channels of other calls do not wait. A
thread that still runs `stuck_seconds` after the deadline of its call is written off: it is replaced, counted
as stuck until it ends, and no longer holds a place (ops/decisions/0031).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Executor, Future
from contextlib import contextmanager
from functools import partial
from typing import Any, Final, TypeVar

from helix_query.scheduling.deadline import PASSED, WAITED
from helix_query.scheduling.fair_queue import Call, FairQueue, Work
from helix_query.scheduling.worker_threads import WorkerThreads, end_all, outcome, settle
from helix_shared.errors import OverdueError
from helix_shared.telemetry import RECALL_SECONDS, RECALL_STUCK, logger

QUEUE: Final = "queue"
"""Name, among the times of the stages, of the time a call waited for its turn."""
MOST_STUCK: Final = 8
"""Stuck threads with which the process still goes on; with more it should end."""
CHECKS: Final = 5
"""How often within `stuck_seconds` deadlines are looked at."""
MORE: Final = object()
"""What a work returns that wants another turn; it keeps its place and waits behind its tenant's others."""

T = TypeVar("T")
_log = logger(__name__)


class FairExecutor:
    """Runs calls on `workers` threads; at most `places` are accepted, in work or waiting. Thread-safe."""

    def __init__(
        self, *, workers: int, places: int, channels: Iterable[str] = (), stuck_seconds: float = 1.0
    ) -> None:
        """Start the threads; each of `channels` has as many of its own as there are for calls."""
        self._lock = threading.RLock()
        self._ended = threading.Condition(self._lock)
        self._queue = FairQueue(workers=workers, places=places)
        self._workers = WorkerThreads(workers, name="recall")
        self._channels = {name: WorkerThreads(workers, name=name) for name in channels}
        self._stuck_seconds = stuck_seconds
        self._stuck = 0
        self._ends: list[Callable[[], None]] = []
        self._on_too_many_stuck: Callable[[], None] = _nothing
        self._closed = threading.Event()
        self._overseer = threading.Thread(target=self._oversee, name="deadlines", daemon=True)
        self._overseer.start()

    @property
    def stuck(self) -> int:
        """Threads that were written off and have not ended."""
        return self._stuck

    def on_too_many_stuck(self, then: Callable[[], None]) -> None:
        """Call `then` once, from any thread, when more than `MOST_STUCK` threads are stuck."""
        self._on_too_many_stuck = then

    def enter(
        self,
        tenant: str,
        works: Sequence[Work],
        *,
        until: float,
        rpc: str = "",
        reserved: bool = False,
        ended: Callable[[], None] | None = None,
    ) -> list[Future[Any]]:
        """A place for each of `works`, or for none; one that gets no turn by `until` ends in OverdueError.

        `until` is a moment of the monotonic clock. `reserved`: inside a `with reserved(...)`, so never
        refused. `ended` is called when no thread works for any of them any more, on the last one; it is not
        called when this raises. A future that is cancelled before its turn frees its place.

        Raises:
            OverloadedError: there are not so many places, and nobody has to give way.
        """
        last = countdown(len(works), ended or _nothing)
        calls = [Call(tenant, rpc, work, until, reserved, last) for work in works]
        with self._accounting():
            for call in self._queue.add(tenant, calls):
                self._fail(call, self._queue.busy())
        for call in calls:
            call.future.add_done_callback(partial(self._leave, call))
            # one turn for each place; whose it is shows when it comes
            self._workers.submit(self._take_turn)
        return [call.future for call in calls]

    @contextmanager
    def reserved(self, count: int) -> Iterator[None]:
        """Places for calls that wait for something else first; there are as many as for all others.

        Raises:
            OverloadedError: there are not so many.
        """
        with self._lock:
            self._queue.reserve(count)
        try:
            yield
        finally:
            with self._lock:
                self._queue.unreserve(count)

    def close(self) -> None:
        """Cancel what waits, and return when what is in work has ended or was written off."""
        with self._accounting():
            for call in [call for call in self._queue.calls if call.queued]:
                self._queue.remove(call)
                call.future.cancel()
                self._fail(call, CancelledError())
        with self._lock:
            self._ended.wait_for(lambda: all(call.written_off for call in self._queue.calls))
        self._closed.set()
        self._overseer.join()
        if not end_all([self._workers, *self._channels.values()], seconds=self._stuck_seconds):
            _log.warning("threads_left")

    @contextmanager
    def _accounting(self) -> Iterator[None]:
        """The lock; what calls that ended inside hold is let go of outside."""
        with self._lock:
            yield
            ends, self._ends = self._ends, []
        for end in ends:
            end()

    def _take_turn(self) -> None:
        thread = threading.current_thread()
        with self._accounting():
            call = self._next()
            if call is None:
                return
            call.running = True
            call.threads[thread] = self._workers
            self._queue.update(call)
        started = time.monotonic()
        RECALL_SECONDS.labels(QUEUE).observe(started - call.queued_at)
        channels = {name: _Channel(self, call, pool) for name, pool in self._channels.items()}
        result, error = outcome(partial(call.work, channels))
        with self._accounting():
            self._queue.took(time.monotonic() - started)
            call.running = False
            for job in call.jobs:
                job.cancel()
            call.jobs.clear()
            if not call.written_off:
                for late, pool in call.threads.items():
                    if late is not thread:
                        pool.replace(late)
            again = result is MORE and not call.written_off
            if again:
                self._queue.append(call)
            # before the caller hears of it: its next call finds the place free
            self._thread_ended(call, thread)
        if again:
            self._workers.submit(self._take_turn)
        elif error is None:
            settle(call.future, partial(call.future.set_result, result))
        else:
            settle(call.future, partial(call.future.set_exception, error))

    def _next(self) -> Call | None:
        """The call whose turn it is; None: those who waited have gone, or must not begin anything now."""
        while (call := self._queue.next()) is not None:
            if time.monotonic() >= call.until:
                self._fail(call, OverdueError(WAITED))
            elif call.future.running() or call.future.set_running_or_notify_cancel():
                return call
            else:
                self._update(call)
        return None

    def on_channel(self, call: Call, pool: WorkerThreads, search: Callable[[], T]) -> T:
        """Run a search of `call` in this thread of `pool`."""
        thread = threading.current_thread()
        with self._lock:
            # a job that begins after its call was written off would be accounted to nobody
            if not call.running or call.written_off:
                raise CancelledError
            call.threads[thread] = pool
        try:
            return search()
        finally:
            with self._accounting():
                self._thread_ended(call, thread)

    def _thread_ended(self, call: Call, thread: threading.Thread) -> None:
        del call.threads[thread]
        if call.written_off:
            self._count_stuck(call, -1)
        self._update(call)

    def _update(self, call: Call) -> None:
        """Account for a change of `call`; let go of what it holds when it has ended."""
        had_late = call.has_late
        over = self._queue.update(call)
        if had_late and not call.has_late:
            # its tenant may have calls that had to wait for this
            for _ in range(self._queue.waiting_of(call.tenant)):
                self._workers.submit(self._take_turn)
        if over:
            self._ends.append(call.ended)
            call.ended = _nothing
            self._ended.notify_all()

    def _leave(self, call: Call, future: Future[Any]) -> None:
        """Free the place of a call that was given up before its turn, and let go of what it worked on."""
        # call and future refer to each other: without this they would keep a generation after its swap
        call.work = _no_work
        if future.cancelled():
            with self._accounting():
                if call.queued:
                    self._queue.remove(call)
                    self._update(call)
                    future.set_running_or_notify_cancel()

    def _fail(self, call: Call, error: BaseException) -> None:
        """End a call that was taken out of the queue and gets no turn, unless its caller was quicker."""
        self._update(call)
        settle(call.future, partial(call.future.set_exception, error))

    def _oversee(self) -> None:
        while not self._closed.wait(self._stuck_seconds / CHECKS):
            self._enforce(time.monotonic())

    def _enforce(self, now: float) -> None:
        """End what waits past its deadline, and write off what runs long past it."""
        before = self._stuck
        with self._accounting():
            for call in list(self._queue.calls):
                if call.queued and now >= call.until:
                    self._queue.remove(call)
                    self._fail(call, OverdueError(WAITED))
                if call.threads and not call.written_off and now >= call.until + self._stuck_seconds:
                    self._write_off(call)
            too_many = before <= MOST_STUCK < self._stuck
        if too_many:
            _log.error("too_many_stuck_threads", stuck=self._stuck, most=MOST_STUCK)
            then, self._on_too_many_stuck = self._on_too_many_stuck, _nothing
            then()

    def _write_off(self, call: Call) -> None:
        if call.running:
            settle(call.future, partial(call.future.set_exception, OverdueError(PASSED)))
        call.written_off = True
        for job in call.jobs:
            job.cancel()
        for thread, pool in call.threads.items():
            pool.replace(thread)
            _log.warning("thread_stuck", rpc=call.rpc, thread=thread.name)
        self._count_stuck(call, len(call.threads))
        self._update(call)
        # for `close`
        self._ended.notify_all()

    def _count_stuck(self, call: Call, change: int) -> None:
        self._stuck += change
        RECALL_STUCK.labels(call.rpc).inc(change)


class _Channel(Executor):
    """The threads of one channel for one call: what runs here is accounted to the call."""

    def __init__(self, turns: FairExecutor, call: Call, pool: WorkerThreads) -> None:
        self._turns = turns
        self._call = call
        self._pool = pool

    def submit(self, work: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        search: Callable[[], T] = partial(work, *args, **kwargs)
        job = self._pool.submit(self._turns.on_channel, self._call, self._pool, search)
        self._call.jobs.append(job)
        return job


def countdown(count: int, end: Callable[[], None]) -> Callable[[], None]:
    """What calls `end` when it was called `count` times; `end` is called at once if that is never."""
    if not count:
        end()
    # the interpreter hands out each number once, whichever threads ask
    left = iter(range(count - 1, -1, -1))
    return lambda: None if next(left) else end()


def _nothing() -> None:
    """No action."""


def _no_work(_channels: Mapping[str, Executor]) -> None:
    """What is left to do for a call that is done."""
