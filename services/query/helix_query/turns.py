"""Whose call is worked on next: few workers, a bounded queue, and turns that go round the tenants.

Callers of one tenant are served first come first served, tenants one after the other, so whoever floods
waits behind his own calls. When all places are taken the tenant with most calls waiting gives way: its
newcomers are refused, and its newest waiting call is, if another tenant comes (ops/decisions/0017). A
call that was given up, or whose time is over before its turn, leaves its place without any work done.
`handlers` brings the calls; nothing here knows what they do.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from helix_shared.errors import OverloadedError
from helix_shared.telemetry import RECALL_REFUSED, RECALL_SECONDS

QUEUE: Final = "queue"
"""Name, among the times of the stages, of the time a call waited for its turn."""
TYPICAL_SECONDS: Final = 0.02
"""Of a call in work, until some were seen."""
SMOOTHING: Final = 0.1
"""Weight of the newest call in the running mean of their seconds."""

Work = Callable[[], Any]


@dataclass(slots=True, eq=False)
class _Call:
    """Accepted work; `until` is of the monotonic clock."""

    tenant: str
    work: Work
    until: float
    reserved: bool
    future: Future[Any] = field(default_factory=Future)
    entered: float = field(default_factory=time.monotonic)


class Turns:
    """Runs calls on `workers` threads; at most `places` are accepted, in work or waiting. Thread-safe."""

    def __init__(self, *, workers: int, places: int) -> None:
        self._workers = workers
        self._places = places
        self._lock = threading.Lock()
        self._queues: OrderedDict[str, deque[_Call]] = OrderedDict()
        self._waiting: Counter[str] = Counter()
        """Calls that wait, by tenant; those on reserved places are not among them."""
        self._working = 0
        self._reserved = 0
        self._mean_seconds = TYPICAL_SECONDS
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="recall")

    def enter(
        self, tenant: str, works: Sequence[Work], *, until: float, reserved: bool = False
    ) -> list[Future[Any]]:
        """A place for each of `works`, or for none; one that gets no turn by `until` ends in TimeoutError.

        `reserved`: inside a `with reserved(...)`, so never refused. A future cancelled before its turn
        frees its place.

        Raises:
            OverloadedError: there are not so many places, and nobody has to give way.
        """
        calls = [_Call(tenant, work, until, reserved) for work in works]
        with self._lock:
            dropped = [] if reserved else self._make_room(tenant, len(calls))
            for call in calls:
                self._queues.setdefault(tenant, deque()).append(call)
                self._waiting[tenant] += not reserved
        for call in dropped:
            _fail(call, self._busy())
        for call in calls:
            call.future.add_done_callback(partial(self._leave, call))
            # one turn for each place; whose it is shows when it comes
            self._pool.submit(self._take_turn)
        return [call.future for call in calls]

    @contextmanager
    def reserved(self, count: int) -> Iterator[None]:
        """Places for calls that wait for something else first; there are as many as for all others.

        Raises:
            OverloadedError: there are not so many.
        """
        with self._lock:
            if self._reserved + count > self._places:
                raise self._busy()
            self._reserved += count
        try:
            yield
        finally:
            with self._lock:
                self._reserved -= count

    def close(self) -> None:
        """Finish what is in work; what waits is cancelled."""
        with self._lock:
            waiting = [call for queue in self._queues.values() for call in queue]
        for call in waiting:
            call.future.cancel()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _make_room(self, tenant: str, count: int) -> list[_Call]:
        """Take out of the queues who has to give way to `count` calls of `tenant`."""
        waiting = self._waiting.copy()
        waiting[tenant] += count
        victims: Counter[str] = Counter()
        for _ in range(self._working + waiting.total() - self._places):
            greediest = max(waiting, key=lambda name: waiting[name])
            if waiting[greediest] <= waiting[tenant]:
                raise self._busy()
            waiting[greediest] -= 1
            victims[greediest] += 1
        return [self._drop_newest(name) for name in victims.elements()]

    def _drop_newest(self, tenant: str) -> _Call:
        call = next(call for call in reversed(self._queues[tenant]) if not call.reserved)
        self._remove(call)
        return call

    def _busy(self) -> OverloadedError:
        """What a refused caller hears: to come back when about half of those before are answered."""
        RECALL_REFUSED.inc()
        waits = self._mean_seconds * self._places / self._workers / 2
        return OverloadedError(
            f"all {self._places} places for calls (in_flight) are taken; back off", delay_seconds=waits
        )

    def _remove(self, call: _Call) -> None:
        queue = self._queues[call.tenant]
        queue.remove(call)
        self._waiting[call.tenant] -= not call.reserved
        if not queue:
            del self._queues[call.tenant]
        if not self._waiting[call.tenant]:
            del self._waiting[call.tenant]

    def _leave(self, call: _Call, future: Future[Any]) -> None:
        """Free the place of a call that was given up before its turn, and let go of what it worked on."""
        # call and future refer to each other: without this they would keep a generation after its swap
        call.work = _nothing
        if not future.cancelled():
            return
        with self._lock:
            if call in self._queues.get(call.tenant, ()):
                self._remove(call)
                future.set_running_or_notify_cancel()

    def _take_turn(self) -> None:
        call = self._next()
        if call is None:
            return
        started = time.monotonic()
        RECALL_SECONDS.labels(QUEUE).observe(started - call.entered)
        result, failure = None, None
        try:
            result = call.work()
        except BaseException as error:  # noqa: BLE001 - a panic of a Rust engine is a BaseException
            failure = error
        with self._lock:
            # before the caller hears of it: its next call finds the place free
            self._working -= not call.reserved
            self._mean_seconds += SMOOTHING * (time.monotonic() - started - self._mean_seconds)
        if failure is None:
            call.future.set_result(result)
        else:
            call.future.set_exception(failure)

    def _next(self) -> _Call | None:
        """The call whose turn it is, its tenant sent to the end of the round; None: all have gone."""
        while True:
            with self._lock:
                if not self._queues:
                    return None
                tenant = next(iter(self._queues))
                call = self._queues[tenant][0]
                self._queues.move_to_end(tenant)
                self._remove(call)
                due = time.monotonic() < call.until
                started = due and call.future.set_running_or_notify_cancel()
                self._working += started and not call.reserved
            if started:
                return call
            if not due:
                _fail(call, TimeoutError())


def _nothing() -> None:
    """What is left to do for a call that is done."""


def _fail(call: _Call, error: BaseException) -> None:
    """End a call that got no turn, unless its caller was quicker."""
    if call.future.set_running_or_notify_cancel():
        call.future.set_exception(error)


def after_all(futures: Sequence[Future[Any]], end: Callable[[], None]) -> None:
    """Call `end` when all of `futures` are done, on the thread of the last one; at once if there are none."""
    if not futures:
        end()
    # the interpreter hands out each number once, whichever threads ask
    left = iter(range(len(futures) - 1, -1, -1))
    for future in futures:
        future.add_done_callback(lambda _: None if next(left) else end())
