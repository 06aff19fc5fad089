"""Events: ingest workers, one writer a shard, generations, replicas; deaths and moves.

A writer takes all events that wait as one batch, at most once an interval, and publishes it; replicas pull
it. While a writer is dead, or NATS elects a leader, events wait: they are acknowledged only after a
publication. A move copies the memories of a tenant to the writer of another shard beside its events, then
switches.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from helix_lab.simulation.engine import Job, Simulation, Station
from helix_lab.simulation.parameters import Parameters, spread

COPY = -1
"""The tenant of a copied memory: its freshness is of nobody's interest."""


@dataclass(frozen=True, slots=True)
class Move:
    """Tenant 0 with so many memories goes from its shard to the next one."""

    at: float
    memories: int


@dataclass(frozen=True, slots=True)
class Writing:
    """What is written, by how many processes, and what dies when."""

    events_per_second: float = 60.0
    tenants: int = 1_000
    shards: int = 4
    ingest_cores: int = 4
    leader_deaths: tuple[float, ...] = ()
    writer_deaths: tuple[float, ...] = ()
    """Of the writer of shard 0."""
    move: Move | None = None
    seconds: float = 300.0


@dataclass(frozen=True, slots=True)
class Event:
    """When it was published, of which tenant, and which shard it belongs to."""

    at: float
    tenant: int
    shard: int


@dataclass(slots=True)
class Freshness:
    """Publication times, seconds until recallable, tenants; how many events were published."""

    at: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    tenants: list[int] = field(default_factory=list)
    published: int = 0

    def percentile(
        self, share: float, *, tenant: int | None = None, since: float = 0.0, until: float = math.inf
    ) -> float:
        """Seconds; of one tenant or of all, of events of a span."""
        at, seconds, tenants = np.array(self.at), np.array(self.seconds), np.array(self.tenants)
        kept = (at >= since) & (at < until) & ((tenants == tenant) if tenant is not None else True)
        return float(np.percentile(seconds[kept], share * 100)) if kept.any() else math.nan

    @property
    def waiting(self) -> int:
        """Events that are not recallable at the end: there were more than the processes can do."""
        return self.published - len(self.at)


class _Writer:
    """The writer of one shard."""

    def __init__(self, run: _Run) -> None:
        self.run = run
        self.waiting: list[Event] = []
        self.batch: list[Event] = []
        """What it applies and publishes; empty: it is idle."""
        self.lives = 0
        self.dead_until = 0.0
        self.begun_at = -math.inf
        self.is_awaited = False

    def take(self, event: Event) -> None:
        self.waiting.append(event)
        self._begin()

    def die(self, until: float) -> None:
        self.dead_until = until
        # what is not published is delivered again to the writer that returns
        self.waiting, self.batch, self.lives = self.batch + self.waiting, [], self.lives + 1
        self.run.simulation.after(until - self.run.simulation.now, self._begin)

    def _begin(self) -> None:
        now = self.run.simulation.now
        if self.batch or not self.waiting or now < self.dead_until:
            return
        figures = self.run.figures
        pause = self.begun_at + figures.publish_interval_seconds - now
        if pause > 0:
            if not self.is_awaited:
                self.is_awaited = True
                self.run.simulation.after(pause, self._paused)
            return
        self.batch, self.waiting, self.begun_at, life = self.waiting, [], now, self.lives
        applied = figures.write_batch_seconds + len(self.batch) * figures.write_event_seconds
        self.run.simulation.after(applied + figures.publish_seconds, lambda: self._publish(life))

    def _paused(self) -> None:
        self.is_awaited = False
        self._begin()

    def _publish(self, life: int) -> None:
        if life != self.lives:
            return  # it died with this batch in its hands
        batch, self.batch = self.batch, []
        self.run.simulation.after(self.run.pull(), lambda: self.run.recallable(batch))
        self._begin()


class _Run:
    def __init__(self, writing: Writing, figures: Parameters, seed: int) -> None:
        self.writing, self.figures = writing, figures
        # one each, so that what dies or moves does not change what arrives
        self.arrivals, self.work, self.pulls = (np.random.default_rng([seed, one]) for one in range(3))
        self.simulation = Simulation()
        self.freshness = Freshness()
        self.ingest = Station(self.simulation, writing.ingest_cores)
        self.writers = [_Writer(self) for _ in range(writing.shards)]
        self.leaderless_until = 0.0
        self.moved = False
        self.switching_until = 0.0
        self.held: list[Event] = []

    def pull(self) -> float:
        sigma = spread(self.figures.pull_p95_over_p50)
        return float(self.pulls.lognormal(math.log(self.figures.pull_seconds), sigma))

    def arrive(self) -> None:
        now = self.simulation.now
        if now >= self.writing.seconds:
            return
        self.simulation.after(
            float(self.arrivals.exponential(1 / self.writing.events_per_second)), self.arrive
        )
        tenant = int(self.arrivals.integers(0, self.writing.tenants))
        self.freshness.published += 1
        event = Event(now, tenant, tenant % self.writing.shards)
        # a publisher repeats until NATS has a leader; the id of the event makes one of the repeats
        wait = max(0.0, self.leaderless_until - now)
        self.simulation.after(wait, lambda: self._ingest(event))

    def _ingest(self, event: Event) -> None:
        work = float(self.work.exponential(self.figures.ingest_seconds)) + self.figures.derive_seconds
        self.ingest.submit(Job(event.tenant, work, lambda _: self._route(event)))

    def _route(self, event: Event) -> None:
        if event.tenant == 0 and self.simulation.now < self.switching_until:
            self.held.append(event)
            return
        away = 1 if event.tenant == 0 and self.moved else 0
        self.writers[(event.shard + away) % self.writing.shards].take(event)

    def recallable(self, batch: list[Event]) -> None:
        now, found = self.simulation.now, self.freshness
        for event in batch:
            if event.tenant == COPY:
                continue
            found.at.append(event.at)
            found.seconds.append(now - event.at)
            found.tenants.append(event.tenant)

    def _copy(self, left: int) -> None:
        if not left:
            self._switch()
            return
        now = self.simulation.now
        self.writers[1 % self.writing.shards].take(Event(now, COPY, 1))
        self.simulation.after(1 / self.figures.copy_events_per_second, lambda: self._copy(left - 1))

    def _switch(self) -> None:
        self.switching_until = self.simulation.now + self.figures.switch_seconds
        self.simulation.after(self.figures.switch_seconds, self._switched)

    def _switched(self) -> None:
        self.moved = True
        held, self.held = self.held, []
        for event in held:
            self._route(event)

    def _lead(self) -> None:
        self.leaderless_until = self.simulation.now + self.figures.leader_return_seconds

    def run(self) -> Freshness:
        writing, after = self.writing, self.simulation.after
        after(0.0, self.arrive)
        for at in writing.leader_deaths:
            after(at, self._lead)
        for at in writing.writer_deaths:
            after(at, lambda at=at: self.writers[0].die(at + self.figures.writer_return_seconds))  # type: ignore[misc]
        if writing.move is not None:
            memories = writing.move.memories
            after(writing.move.at, lambda: self._copy(memories))
        self.simulation.run(writing.seconds * 2 + 60)
        return self.freshness


def freshness(writing: Writing, figures: Parameters, *, seed: int) -> Freshness:
    """Let events arrive for a while, and wait until the last one can be recalled."""
    return _Run(writing, figures, seed).run()
