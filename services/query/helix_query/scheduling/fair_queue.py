"""Which call is worked on next, and which one gives way: a bounded queue that goes round the tenants.

Calls of one tenant are served first come first served, tenants one after the other. When all places are
taken, the tenant with the largest share gives way (ops/decisions/0017, 0031). A tenant for whom as many
answered calls as there are workers still have threads at work gets no further turn.
No threads here: `turns` calls every method under its lock.
"""

from __future__ import annotations

import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from helix_shared.errors import OverloadedError
from helix_shared.telemetry import RECALL_CALLS, RECALL_REFUSED

if TYPE_CHECKING:
    import threading

    from prometheus_client import Gauge

    from helix_query.scheduling.worker_threads import WorkerThreads

TYPICAL_SECONDS: Final = 0.02
"""Of a turn, until some were seen."""
SMOOTHING: Final = 0.1
"""Weight of the newest turn in the running mean of their seconds."""

Work = Callable[[Mapping[str, Executor]], Any]
"""Called with an executor for each channel; what runs there is accounted to the call."""


@dataclass(slots=True, eq=False)
class Call:
    """One accepted unit of work and the threads that work for it."""

    tenant: str
    rpc: str
    """Name of the RPC, for the metrics."""
    work: Work
    until: float
    """Deadline, a moment of the monotonic clock."""
    reserved: bool
    """Never refused and no victim while it waits, because it was accepted before."""
    ended: Callable[[], None]
    """Called once, when nothing waits or runs for the call any more."""
    future: Future[Any] = field(default_factory=Future)
    entered: float = field(default_factory=time.monotonic)
    queued_at: float = 0.0
    threads: dict[threading.Thread, WorkerThreads] = field(default_factory=dict)
    """Threads at work for it now, and the workers they belong to."""
    jobs: list[Future[Any]] = field(default_factory=list)
    """What it has submitted to channels in this turn."""
    queued: bool = False
    running: bool = False
    """The call itself, not only a channel of it, is at work."""
    written_off: bool = False
    """Its threads count as stuck and its place is free."""
    holds_place: bool = False
    """One of the ordinary places; a reserved call never does."""
    has_late: bool = False
    """Threads of channels whose result nobody uses are at work, and the call itself is not."""
    state: str = ""
    """As the gauge of calls counts it: waiting, running, or late, where only late threads are left; empty:
    not at all."""


class FairQueue:
    """Calls that wait, and the places of all that wait or run; not thread-safe."""

    def __init__(self, *, workers: int, places: int) -> None:
        """`workers` is how many calls run at once, `places` how many wait or run."""
        self._workers = workers
        self._places = places
        self._queues: OrderedDict[str, deque[Call]] = OrderedDict()
        self._late: Counter[str] = Counter()
        """Calls with late threads, whether they wait for another turn or have ended, by tenant."""
        self._taken = 0
        self._reserved = 0
        self._late_reserved = 0
        """Calls that were answered from a reserved place and keep it for their late threads."""
        self._mean_seconds = TYPICAL_SECONDS
        self.calls: set[Call] = set()
        """All that wait, run or have threads at work."""

    def add(self, tenant: str, calls: Sequence[Call]) -> list[Call]:
        """Put all of `calls` at the end of their tenant's queue; who had to give way.

        Raises:
            OverloadedError: there are not so many places, and nobody has to give way; none was put.
        """
        dropped = self._make_room(tenant, sum(not call.reserved for call in calls))
        for call in calls:
            self.append(call)
        return dropped

    def append(self, call: Call) -> None:
        """Put a call at the end of its tenant's queue."""
        call.queued, call.queued_at = True, time.monotonic()
        self._queues.setdefault(call.tenant, deque()).append(call)
        self.calls.add(call)
        self.update(call)

    def remove(self, call: Call) -> None:
        """Take a waiting call out."""
        call.queued = False
        queue = self._queues[call.tenant]
        queue.remove(call)
        if not queue:
            del self._queues[call.tenant]

    def waiting_of(self, tenant: str) -> int:
        """Calls of a tenant that wait."""
        return len(self._queues.get(tenant, ()))

    def next(self) -> Call | None:
        """Take out the call whose turn it is, its tenant sent to the end of the round."""
        for tenant, queue in self._queues.items():
            if self._late[tenant] < self._workers:
                call = queue[0]
                self._queues.move_to_end(tenant)
                self.remove(call)
                return call
        return None

    def update(self, call: Call) -> bool:
        """Account for what a call is now; whether it has ended just now.

        A call keeps its place while it waits or a thread works for it, unless it was written off. A reserved
        call has its reserved place instead, and keeps that for its late threads.
        """
        alive = call.queued or call.running or bool(call.threads)
        holds_place = alive and not call.written_off and not call.reserved
        self._taken += holds_place - call.holds_place
        call.holds_place = holds_place
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
        if alive or call not in self.calls:
            return False
        self.calls.remove(call)
        return True

    def reserve(self, count: int) -> None:
        """Take places for calls that wait for something else first.

        Raises:
            OverloadedError: there are not so many.
        """
        if self._reserved + self._late_reserved + count > self._places:
            raise self.busy()
        self._reserved += count

    def unreserve(self, count: int) -> None:
        """Give them back."""
        self._reserved -= count

    def took(self, seconds: float) -> None:
        """Note how long a turn was."""
        self._mean_seconds += SMOOTHING * (seconds - self._mean_seconds)

    def busy(self) -> OverloadedError:
        """What a refused caller hears: to come back when about half of those before are answered."""
        RECALL_REFUSED.inc()
        waits = self._mean_seconds * self._places / self._workers / 2
        return OverloadedError(
            f"all {self._places} places for calls (in_flight) are taken; back off", delay_seconds=waits
        )

    def _make_room(self, tenant: str, count: int) -> list[Call]:
        """Take out who has to give way to `count` calls of `tenant`.

        A call with late threads does not: its place would stay taken.
        """
        missing = self._taken + count - self._places
        if not count or missing <= 0:
            return []
        droppable = {
            name: sorted((call for call in queue if _is_droppable(call)), key=lambda one: one.entered)
            for name, queue in self._queues.items()
        }
        share = Counter(call.tenant for call in self.calls if _counts_in_share(call))
        share[tenant] += count
        dropped: list[Call] = []
        for _ in range(missing):
            having = [name for name, calls in droppable.items() if calls]
            greediest = max(having, key=share.__getitem__, default=tenant)
            if share[greediest] <= share[tenant]:
                raise self.busy()
            share[greediest] -= 1
            dropped.append(droppable[greediest].pop())
        for call in dropped:
            self.remove(call)
        return dropped


@cache
def _calls(rpc: str, state: str) -> Gauge:
    """The gauge of calls in a state; looking it up by label costs more than counting."""
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
