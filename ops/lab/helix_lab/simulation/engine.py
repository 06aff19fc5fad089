"""Discrete events: a clock with a heap of events, and stations where jobs wait for a server.

Times are seconds. Two events at one time happen in the order in which they were scheduled, so a run follows
from its seed alone.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field


class Simulation:
    """The clock; `now` is the time of the event that happens."""

    def __init__(self) -> None:
        """Nothing is scheduled at time 0."""
        self.now = 0.0
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._scheduled = 0

    def after(self, delay: float, happens: Callable[[], None]) -> None:
        """Schedule what happens `delay` seconds from now."""
        heapq.heappush(self._events, (self.now + delay, self._scheduled, happens))
        self._scheduled += 1

    def run(self, until: float) -> None:
        """Let everything happen up to a time."""
        while self._events and self._events[0][0] <= until:
            self.now, _, happens = heapq.heappop(self._events)
            happens()
        self.now = until


@dataclass(slots=True, eq=False)
class Job:
    """Work of `seconds` for one tenant; `done` is called when it ends."""

    tenant: int
    seconds: float
    done: Callable[[Job], None]
    arrived: float = 0.0
    is_cancelled: bool = False


@dataclass(slots=True)
class Station:
    """Servers with one queue: in the order of arrival, or fair, where tenants are served in turn.

    `slowness` multiplies the work of jobs that begin; a job that runs is not stopped.
    """

    simulation: Simulation
    servers: int
    is_fair: bool = False
    slowness: float = 1.0
    busy_seconds: float = 0.0
    in_use: int = 0
    _turns: deque[int] = field(default_factory=deque)
    _waiting: dict[int, deque[Job]] = field(default_factory=dict)

    def submit(self, job: Job) -> None:
        """Serve a job, now or when a server is free."""
        job.arrived = self.simulation.now
        line = job.tenant if self.is_fair else 0
        queue = self._waiting.setdefault(line, deque())
        if not queue:
            self._turns.append(line)
        queue.append(job)
        self._serve()

    def _serve(self) -> None:
        while self.in_use < self.servers and (job := self._next()) is not None:
            self.in_use += 1
            seconds = job.seconds * self.slowness
            self.busy_seconds += seconds
            self.simulation.after(seconds, lambda job=job: self._end(job))  # type: ignore[misc]

    def _next(self) -> Job | None:
        while self._turns:
            line = self._turns.popleft()
            queue = self._waiting[line]
            job = queue.popleft()
            if queue:
                self._turns.append(line)
            if not job.is_cancelled:
                return job
        return None

    def _end(self, job: Job) -> None:
        self.in_use -= 1
        job.done(job)
        self._serve()
