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

    from helix_query.workers import Workers

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
    threads: dict[threading.Thread, Workers] = field(default_factory=dict)
    """Threads at work for it now, and the workers they belong to."""
    jobs: list[Future[Any]] = field(default_factory=list)
    """What it has submitted to channels in this turn."""
    queued: bool = False
    running: bool = False
    """The call itself, not only a channel of it, is at work."""
    written_off: bool = False
    """Its threads count as stuck and its place is free."""
    holds_place: bool = False
    state: str = ""
    """As the gauge of calls counts it: waiting, running, or late, where only threads of channels are left
    whose result nobody uses; empty: not at all."""


class FairQueue:
    """Calls that wait, and the places of all that wait or run; not thread-safe."""

    def __init__(self, *, workers: int, places: int) -> None:
        """`workers` is how many calls run at once, `places` how many wait or run."""
        self._workers = workers
        self._places = places
        self._queues: OrderedDict[str, deque[Call]] = OrderedDict()
        self._waiting: Counter[str] = Counter()
        """Calls that may have to give way, by tenant."""
        self._late: Counter[str] = Counter()
        """Calls of which only threads are left, by tenant."""
        self._taken = 0
        self._reserved = 0
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
        self._waiting[call.tenant] += not call.reserved
        self.calls.add(call)
        self.update(call)

    def remove(self, call: Call) -> None:
        """Take a waiting call out."""
        call.queued = False
        queue = self._queues[call.tenant]
        queue.remove(call)
        self._waiting[call.tenant] -= not call.reserved
        if not queue:
            del self._queues[call.tenant]
        if not self._waiting[call.tenant]:
            del self._waiting[call.tenant]

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

        A call keeps its place while it waits or a thread works for it, unless it was written off.
        """
        alive = call.queued or call.running or bool(call.threads)
        holds_place = alive and not call.written_off and not (call.reserved and call.queued)
        self._taken += holds_place - call.holds_place
        call.holds_place = holds_place
        state = "" if call.written_off else _state_of(call)
        if state != call.state:
            if "late" in (state, call.state):
                self._late[call.tenant] += 1 if state == "late" else -1
                if not self._late[call.tenant]:
                    del self._late[call.tenant]
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
        if self._reserved + count > self._places:
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
        """Take out who has to give way to `count` calls of `tenant`."""
        waiting = self._waiting.copy()
        waiting[tenant] += count
        share = waiting + self._late
        victims: Counter[str] = Counter()
        for _ in range(self._taken + count - self._places):
            greediest = max(waiting, key=lambda name: (waiting[name] > 0, share[name]))
            if share[greediest] <= share[tenant]:
                raise self.busy()
            waiting[greediest] -= 1
            share[greediest] -= 1
            victims[greediest] += 1
        return [self._drop_newest(name) for name in victims.elements()]

    def _drop_newest(self, tenant: str) -> Call:
        victims = [call for call in reversed(self._queues[tenant]) if not call.reserved]
        call = max(victims, key=lambda one: one.entered)
        self.remove(call)
        return call


@cache
def _calls(rpc: str, state: str) -> Gauge:
    """The gauge of calls in a state; looking it up by label costs more than counting."""
    return RECALL_CALLS.labels(rpc, state)


def _state_of(call: Call) -> str:
    if call.running:
        return "running"
    if call.threads:
        return "late"
    return "waiting" if call.queued else ""
