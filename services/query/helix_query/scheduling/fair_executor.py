"""Runs the calls of the fair queue (`fair_queue`) on threads; accounts for every thread until it ends.

A call runs on one thread and its searches on others. It keeps its slot until all of them have
ended, even if its caller has gone. Search threads that outlive their call are late: they are replaced at
once, so that searches of other calls do not wait. A thread that still runs `stuck_seconds` after the
deadline of its call is written off: it is replaced, counts as stuck until it ends, and frees its slot
(ops/decisions/0031).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Executor, Future
from contextlib import contextmanager
from functools import partial
from typing import Any, Final, TypeVar

from helix_query.metrics import RECALL_STUCK, STAGE_SECONDS
from helix_query.scheduling.deadline import PASSED_IN_QUEUE
from helix_query.scheduling.fair_queue import Call, FairQueue, Task
from helix_query.scheduling.worker_threads import WorkerThreads, end_all, finish_future, outcome
from helix_shared.errors import PASSED, OverdueError
from helix_shared.telemetry.logs import logger

QUEUE: Final = "queue"
"""Label of the time a call was queued, in the histogram of stages."""
MAX_STUCK: Final = 8
"""With more stuck threads the process should end."""
CHECKS_PER_PERIOD: Final = 5
"""Checks of the deadlines within `stuck_seconds`."""
RUN_AGAIN: Final = object()
"""Returned by a task that must run again: it keeps its slot and is queued behind its tenant's others."""

T = TypeVar("T")
_log = logger(__name__)


class FairExecutor:
    """Runs calls on `workers` threads; accepts at most `slots` that run or wait. Thread-safe."""

    def __init__(
        self, *, workers: int, slots: int, lanes: Iterable[str] = (), stuck_seconds: float = 1.0
    ) -> None:
        """Start the threads: `workers` for calls, and as many for the searches of each of `lanes`."""
        self._lock = threading.RLock()
        self._ended = threading.Condition(self._lock)
        self._queue = FairQueue(workers=workers, slots=slots)
        self._workers = WorkerThreads(workers, name="recall")
        self._lanes = {name: WorkerThreads(workers, name=name) for name in lanes}
        self._stuck_seconds = stuck_seconds
        self._stuck = 0
        self._ends: list[Callable[[], None]] = []
        self._on_too_many_stuck: Callable[[], None] = _nothing
        self._closed = threading.Event()
        self._watcher = threading.Thread(target=self._watch, name="deadlines", daemon=True)
        self._watcher.start()

    @property
    def stuck(self) -> int:
        """Number of threads that were written off and still run."""
        return self._stuck

    def on_too_many_stuck(self, then: Callable[[], None]) -> None:
        """Call `then` once, from any thread, when more than `MAX_STUCK` threads are stuck."""
        self._on_too_many_stuck = then

    def submit(
        self,
        tenant: str,
        tasks: Sequence[Task],
        *,
        until: float,
        rpc: str = "",
        reserved: bool = False,
        on_end: Callable[[], None] | None = None,
    ) -> list[Future[Any]]:
        """Queue all of `tasks`, or none; a task that has not started by `until` ends in OverdueError.

        `until` is a moment of the monotonic clock. `reserved`: inside `with reserved(...)`, so never refused.
        `on_end` is called once, on the last thread of the last task; it is not called if this raises.
        Cancelling a future that has not started frees its slot.

        Raises:
            OverloadedError: there are too few slots and no call to drop.
        """
        last = countdown(len(tasks), on_end or _nothing)
        calls = [Call(tenant, rpc, task, until, reserved, last) for task in tasks]
        with self._accounting():
            for call in self._queue.add(tenant, calls):
                self._fail(call, self._queue.overloaded())
        for call in calls:
            call.future.add_done_callback(partial(self._release, call))
            # the thread asks the queue which call it runs, so this may be another one
            self._workers.submit(self._run_next)
        return [call.future for call in calls]

    @contextmanager
    def reserved(self, count: int) -> Iterator[None]:
        """Reserve slots for calls that first wait for an event; there are as many as ordinary ones.

        Raises:
            OverloadedError: there are too few.
        """
        with self._lock:
            self._queue.reserve(count)
        try:
            yield
        finally:
            with self._lock:
                self._queue.unreserve(count)

    def close(self) -> None:
        """Cancel waiting calls; return when the running ones have ended or were written off."""
        with self._accounting():
            for call in [call for call in self._queue.calls if call.queued]:
                self._queue.remove(call)
                call.future.cancel()
                self._fail(call, CancelledError())
        with self._lock:
            self._ended.wait_for(lambda: all(call.written_off for call in self._queue.calls))
        self._closed.set()
        self._watcher.join()
        if not end_all([self._workers, *self._lanes.values()], seconds=self._stuck_seconds):
            _log.warning("threads_left")

    @contextmanager
    def _accounting(self) -> Iterator[None]:
        """Hold the lock; run the `on_end` of calls that ended inside after it is released."""
        with self._lock:
            yield
            ends, self._ends = self._ends, []
        for end in ends:
            end()

    def _run_next(self) -> None:
        thread = threading.current_thread()
        with self._accounting():
            call = self._next()
            if call is None:
                return
            call.running = True
            call.threads[thread] = self._workers
            self._queue.update(call)
        started = time.monotonic()
        STAGE_SECONDS.labels(QUEUE).observe(started - call.queued_at)
        lanes = {name: _Lane(self, call, pool) for name, pool in self._lanes.items()}
        result, error = outcome(partial(call.task, lanes))
        with self._accounting():
            self._queue.record_duration(time.monotonic() - started)
            call.running = False
            for job in call.jobs:
                job.cancel()
            call.jobs.clear()
            if not call.written_off:
                for late, pool in call.threads.items():
                    if late is not thread:
                        pool.replace(late)
            again = result is RUN_AGAIN and not call.written_off
            if again:
                self._queue.append(call)
            # before the future ends, so that the next call of the same caller finds the slot free
            self._thread_ended(call, thread)
        if again:
            self._workers.submit(self._run_next)
        elif error is None:
            finish_future(call.future, partial(call.future.set_result, result))
        else:
            finish_future(call.future, partial(call.future.set_exception, error))

    def _next(self) -> Call | None:
        """The next call to run; None if all have gone, or their tenants must wait for late threads."""
        while (call := self._queue.pop()) is not None:
            if time.monotonic() >= call.until:
                self._fail(call, OverdueError(PASSED_IN_QUEUE))
            elif call.future.running() or call.future.set_running_or_notify_cancel():
                return call
            else:
                self._update(call)
        return None

    def on_lane(self, call: Call, pool: WorkerThreads, search: Callable[[], T]) -> T:
        """Run a search of `call` on this thread of `pool`."""
        thread = threading.current_thread()
        with self._lock:
            # a job that starts after its call was written off would not be accounted for
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
        """Account for a change of `call`; note its `on_end` if it has ended."""
        had_late = call.has_late
        over = self._queue.update(call)
        if had_late and not call.has_late:
            # calls of its tenant may have been passed over because of its late threads
            for _ in range(self._queue.waiting_of(call.tenant)):
                self._workers.submit(self._run_next)
        if over:
            self._ends.append(call.on_end)
            call.on_end = _nothing
            self._ended.notify_all()

    def _release(self, call: Call, future: Future[Any]) -> None:
        """Drop the task of a call that is done; free its slot if it was cancelled in the queue."""
        # call and future refer to each other: their task would keep a generation open after its swap
        call.task = _no_task
        if future.cancelled():
            with self._accounting():
                if call.queued:
                    self._queue.remove(call)
                    self._update(call)
                    future.set_running_or_notify_cancel()

    def _fail(self, call: Call, error: BaseException) -> None:
        """End a call that was removed from the queue and does not run; a cancelled future stays cancelled."""
        self._update(call)
        finish_future(call.future, partial(call.future.set_exception, error))

    def _watch(self) -> None:
        while not self._closed.wait(self._stuck_seconds / CHECKS_PER_PERIOD):
            self._enforce(time.monotonic())

    def _enforce(self, now: float) -> None:
        """End calls that wait past their deadline; write off those that run long past it."""
        before = self._stuck
        with self._accounting():
            for call in list(self._queue.calls):
                if call.queued and now >= call.until:
                    self._queue.remove(call)
                    self._fail(call, OverdueError(PASSED_IN_QUEUE))
                if call.threads and not call.written_off and now >= call.until + self._stuck_seconds:
                    self._write_off(call)
            too_many = before <= MAX_STUCK < self._stuck
        if too_many:
            _log.error("too_many_stuck_threads", stuck=self._stuck, most=MAX_STUCK)
            then, self._on_too_many_stuck = self._on_too_many_stuck, _nothing
            then()

    def _write_off(self, call: Call) -> None:
        if call.running:
            finish_future(call.future, partial(call.future.set_exception, OverdueError(PASSED)))
        call.written_off = True
        for job in call.jobs:
            job.cancel()
        for thread, pool in call.threads.items():
            pool.replace(thread)
            _log.warning("thread_stuck", rpc=call.rpc, thread=thread.name)
        self._count_stuck(call, len(call.threads))
        self._update(call)
        # `close` waits for this
        self._ended.notify_all()

    def _count_stuck(self, call: Call, change: int) -> None:
        self._stuck += change
        RECALL_STUCK.labels(call.rpc).inc(change)


class _Lane(Executor):
    """The threads of one lane for one call; their time is accounted to the call."""

    def __init__(self, owner: FairExecutor, call: Call, pool: WorkerThreads) -> None:
        self._owner = owner
        self._call = call
        self._pool = pool

    def submit(self, work: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        search: Callable[[], T] = partial(work, *args, **kwargs)
        job = self._pool.submit(self._owner.on_lane, self._call, self._pool, search)
        self._call.jobs.append(job)
        return job


def countdown(count: int, end: Callable[[], None]) -> Callable[[], None]:
    """A function that calls `end` at its `count`-th call; if `count` is 0, `end` is called at once."""
    if not count:
        end()
    # `next` of an iterator is atomic in CPython, so each thread gets another number
    left = iter(range(count - 1, -1, -1))
    return lambda: None if next(left) else end()


def _nothing() -> None:
    """No action."""


def _no_task(_lanes: Mapping[str, Executor]) -> None:
    """The task of a call that is done."""
