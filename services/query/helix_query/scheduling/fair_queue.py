"""The fair queue: a bounded queue of calls, round robin over tenants; `fair_executor` runs what it returns.

Calls of one tenant are taken in order of arrival, tenants in rotation. When all slots are taken, the newest
call of the tenant with the most calls is dropped (ops/decisions/0017, 0031). A tenant is passed over while
as many of its answered calls as there are workers still have running threads.
The queue starts no threads; `FairExecutor` calls every method under its lock.
"""

from __future__ import annotations

import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from helix_query.metrics import RECALL_CALLS, RECALL_REFUSED
from helix_shared.errors import OverloadedError

if TYPE_CHECKING:
    import threading

    from prometheus_client import Gauge

    from helix_query.scheduling.worker_threads import WorkerThreads

TYPICAL_SECONDS: Final = 0.02
"""Assumed duration of a run until the first one was measured."""
SMOOTHING: Final = 0.1
"""Weight of the newest run in the moving average of their durations."""

Task = Callable[[Mapping[str, Executor]], Any]
"""Called with one executor a lane; their threads are accounted to the call."""


@dataclass(slots=True, eq=False)
class Call:
    """One accepted task and the threads that run for it."""

    tenant: str
    rpc: str
    """Name of the RPC; a label of the metrics."""
    task: Task
    until: float
    """Deadline, a moment of the monotonic clock."""
    reserved: bool
    """Accepted before, on a reserved slot: never refused, never dropped."""
    on_end: Callable[[], None]
    """Called once, when the call is neither queued nor has a running thread."""
    future: Future[Any] = field(default_factory=Future)
    submitted_at: float = field(default_factory=time.monotonic)
    queued_at: float = 0.0
    threads: dict[threading.Thread, WorkerThreads] = field(default_factory=dict)
    """Its running threads and the pool of each."""
    jobs: list[Future[Any]] = field(default_factory=list)
    """Its searches on threads of lanes in this run."""
    queued: bool = False
    running: bool = False
    """Whether its task runs, not only a search in a lane."""
    written_off: bool = False
    """Whether its threads count as stuck; its slot is free then."""
    holds_slot: bool = False
    """Whether it holds an ordinary slot; a reserved call never does."""
    has_late: bool = False
    """Whether threads of lanes run on although its task does not."""
    state: str = ""
    """Label of the gauge: waiting, running, late (only late threads are left), or empty (not counted)."""


class FairQueue:
    """Waiting calls, and the slots of all calls that wait or run; not thread-safe."""

    def __init__(self, *, workers: int, slots: int) -> None:
        """`workers`: calls that run at once; `slots`: calls that wait or run."""
        self._workers = workers
        self._slots = slots
        self._queues: OrderedDict[str, deque[Call]] = OrderedDict()
        self._late: Counter[str] = Counter()
        """Number of calls with late threads by tenant."""
        self._taken = 0
        self._reserved = 0
        self._late_reserved = 0
        """Answered calls that keep a reserved slot for their late threads."""
        self._mean_seconds = TYPICAL_SECONDS
        self.calls: set[Call] = set()
        """All calls that wait, run or have late threads."""

    def add(self, tenant: str, calls: Sequence[Call]) -> list[Call]:
        """Queue all of `calls`; return the calls that were dropped for them.

        Raises:
            OverloadedError: there are too few slots and no call to drop; none was queued.
        """
        dropped = self._make_room(tenant, sum(not call.reserved for call in calls))
        for call in calls:
            self.append(call)
        return dropped

    def append(self, call: Call) -> None:
        """Queue a call behind the others of its tenant."""
        call.queued, call.queued_at = True, time.monotonic()
        self._queues.setdefault(call.tenant, deque()).append(call)
        self.calls.add(call)
        self.update(call)

    def remove(self, call: Call) -> None:
        """Remove a waiting call."""
        call.queued = False
        queue = self._queues[call.tenant]
        queue.remove(call)
        if not queue:
            del self._queues[call.tenant]

    def waiting_of(self, tenant: str) -> int:
        """Number of waiting calls of a tenant."""
        return len(self._queues.get(tenant, ()))

    def pop(self) -> Call | None:
        """Remove and return the next call; its tenant moves to the end of the rotation."""
        for tenant, queue in self._queues.items():
            if self._late[tenant] < self._workers:
                call = queue[0]
                self._queues.move_to_end(tenant)
                self.remove(call)
                return call
        return None

    def update(self, call: Call) -> bool:
        """Bring counts and gauges up to the state of a call; return whether the call has just ended.

        A call keeps its slot while it waits or one of its threads runs, unless it was written off. A
        reserved call keeps its reserved slot instead.
        """
        active = call.queued or call.running or bool(call.threads)
        holds_slot = active and not call.written_off and not call.reserved
        self._taken += holds_slot - call.holds_slot
        call.holds_slot = holds_slot
        has_late = bool(call.threads) and not call.running and not call.written_off
        if has_late != call.has_late:
            self._late[call.tenant] += has_late - call.has_late
            if not self._late[call.tenant]:
                del self._late[call.tenant]
            call.has_late = has_late
        state = "" if call.written_off else _state_of(call)
        if state != call.state:
            if call.reserved:
                self._late_reserved += (state == "late") - (call.state == "late")
            if call.state:
                _calls(call.rpc, call.state).dec()
            if state:
                _calls(call.rpc, state).inc()
            call.state = state
        if active or call not in self.calls:
            return False
        self.calls.remove(call)
        return True

    def reserve(self, count: int) -> None:
        """Reserve slots for calls that first wait for an event.

        Raises:
            OverloadedError: there are too few.
        """
        if self._reserved + self._late_reserved + count > self._slots:
            raise self.overloaded()
        self._reserved += count

    def unreserve(self, count: int) -> None:
        """Give reserved slots back."""
        self._reserved -= count

    def record_duration(self, seconds: float) -> None:
        """Count the duration of one run into the moving average."""
        self._mean_seconds += SMOOTHING * (seconds - self._mean_seconds)

    def overloaded(self) -> OverloadedError:
        """The error for a refused caller: retry when about half of the calls before are answered."""
        RECALL_REFUSED.inc()
        waits = self._mean_seconds * self._slots / self._workers / 2
        return OverloadedError(
            f"all {self._slots} slots for calls (in_flight) are taken; back off", delay_seconds=waits
        )

    def _make_room(self, tenant: str, count: int) -> list[Call]:
        """Remove and return the calls that are dropped for `count` calls of `tenant`.

        A call with late threads is not dropped: its slot would stay taken.
        """
        missing = self._taken + count - self._slots
        if not count or missing <= 0:
            return []
        droppable = {
            name: sorted((call for call in queue if _is_droppable(call)), key=lambda one: one.submitted_at)
            for name, queue in self._queues.items()
        }
        share = Counter(call.tenant for call in self.calls if _counts_in_share(call))
        share[tenant] += count
        dropped: list[Call] = []
        for _ in range(missing):
            candidates = [name for name, calls in droppable.items() if calls]
            largest = max(candidates, key=share.__getitem__, default=tenant)
            if share[largest] <= share[tenant]:
                raise self.overloaded()
            share[largest] -= 1
            dropped.append(droppable[largest].pop())
        for call in dropped:
            self.remove(call)
        return dropped


@cache
def _calls(rpc: str, state: str) -> Gauge:
    """The gauge of calls in a state; cached, because the lookup by label costs more than the count."""
    return RECALL_CALLS.labels(rpc, state)


def _is_droppable(call: Call) -> bool:
    return not call.reserved and not call.threads


def _counts_in_share(call: Call) -> bool:
    return call.state == "late" or (call.queued and not call.reserved)


def _state_of(call: Call) -> str:
    if call.running:
        return "running"
    if call.queued:
        return "waiting"
    return "late" if call.threads else ""
