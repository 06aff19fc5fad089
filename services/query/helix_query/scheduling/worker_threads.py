"""A pool of threads in which a thread that hangs can be replaced.

Python cannot cancel a thread. `replace` starts another one in its place; the old thread ends when its job
does. Threads are daemons, so that a hanging job does not keep the process from ending. `fair_executor`
decides which threads are replaced.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Executor, Future
from functools import partial
from typing import Any, ParamSpec, TypeVar

from helix_query.scheduling.deadline import seconds_left

P = ParamSpec("P")
T = TypeVar("T")
_Job = tuple[Future[Any], Callable[[], Any]]


class WorkerThreads(Executor):
    """Runs jobs on `count` threads in the order of submission."""

    def __init__(self, count: int, *, name: str) -> None:
        """Start the threads, each with this name."""
        self._name = name
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._threads: set[threading.Thread] = set()
        self._lock = threading.Lock()
        for _ in range(count):
            self._start()

    def submit(self, work: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run `work` when a thread is free, unless its future is cancelled before."""
        future: Future[T] = Future()
        self._jobs.put((future, partial(work, *args, **kwargs)))
        return future

    def replace(self, thread: threading.Thread) -> None:
        """Start another thread in place of `thread`, which ends after its job; idempotent."""
        with self._lock:
            if thread not in self._threads:
                return
            self._threads.remove(thread)
        self._start()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the threads after the jobs submitted so far; replaced threads are not waited for."""
        with self._lock:
            count = len(self._threads)
        while cancel_futures:
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                break
            if job is not None:
                job[0].cancel()
        for _ in range(count):
            self._jobs.put(None)
        if wait:
            self.join()

    def join(self, until: float | None = None) -> bool:
        """Wait for the threads after `shutdown`, at most until `until`; return whether all have ended.

        Replaced threads are not waited for.
        """
        with self._lock:
            threads = list(self._threads)
        for thread in threads:
            thread.join(None if until is None else seconds_left(until))
        return not any(thread.is_alive() for thread in threads)

    def _start(self) -> None:
        thread = threading.Thread(target=self._work, name=self._name, daemon=True)
        with self._lock:
            self._threads.add(thread)
        thread.start()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            future, work = job
            if future.set_running_or_notify_cancel():
                result, error = outcome(work)
                if error is None:
                    future.set_result(result)
                else:
                    future.set_exception(error)
                del result, error
            # an idle thread must hold no reference to its last job
            del job, future, work
            if threading.current_thread() not in self._threads:
                return


def end_all(pools: Iterable[WorkerThreads], *, seconds: float) -> bool:
    """Cancel queued jobs of `pools` and end their threads; return whether all ended within `seconds`."""
    pools, until = list(pools), time.monotonic() + seconds
    for pool in pools:
        pool.shutdown(wait=False, cancel_futures=True)
    return all(pool.join(until) for pool in pools)


def outcome(work: Callable[[], T]) -> tuple[T | None, BaseException | None]:
    """The result of `work` and None, or None and its error."""
    try:
        return work(), None
    except BaseException as error:  # noqa: BLE001 - a panic of a Rust engine is a BaseException
        return None, error


def finish_future(future: Future[Any], end: Callable[[], None]) -> None:
    """Call `end` to complete a future; one that is cancelled or done is left as it is."""
    if future.running() or (
        (future.cancelled() or not future.done()) and future.set_running_or_notify_cancel()
    ):
        end()
