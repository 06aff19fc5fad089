"""Recalls: arrivals of tenants, shards with replicas, hedged reads.

A recall goes to a replica of its tenant's shard that the client chooses at random. With a hedge, a recall
without an answer after that time is sent to another replica too, and the first answer counts. The other one
is withdrawn while it waits; once it runs, it runs to its end, as a thread of the query service does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from helix_lab.simulation.engine import Job, Simulation, Station
from helix_lab.simulation.parameters import Parameters, spread


@dataclass(frozen=True, slots=True)
class Reading:
    """What is asked, and of how many machines."""

    tenants: int = 1_000
    shards: int = 4
    replicas: int = 2
    cores: int = 2
    utilisation: float = 0.5
    """Work that arrives, as a share of all cores; hedges come on top."""
    hot_share: float = 0.0
    """Share of all recalls that tenant 0 makes; the others make the rest alike."""
    is_fair: bool = True
    hedge_seconds: float = math.inf
    slow_replica: int | None = None
    slowness: float = 1.0
    seconds: float = 100.0


@dataclass(slots=True)
class Recalls:
    """Seconds and tenants of the recalls in the order of their ends; how many were sent, and sent twice."""

    seconds: list[float] = field(default_factory=list)
    tenants: list[int] = field(default_factory=list)
    sent: int = 0
    hedged: int = 0
    busy_share: float = 0.0

    def percentile(
        self, share: float, *, tenants: Sequence[int] | None = None, other_than: int | None = None
    ) -> float:
        """Milliseconds; of these tenants, or of all but one."""
        seconds, of = np.array(self.seconds), np.array(self.tenants)
        if tenants is not None:
            seconds = seconds[np.isin(of, tenants)]
        if other_than is not None:
            seconds = seconds[of != other_than]
        return float(np.percentile(seconds, share * 100) * 1_000) if seconds.size else math.nan


class _Run:
    def __init__(self, reading: Reading, figures: Parameters, seed: int) -> None:
        self.reading, self.figures = reading, figures
        # one each, so that hedges and slowness do not change what arrives
        self.arrivals, self.works, self.orders = (np.random.default_rng([seed, one]) for one in range(3))
        self.simulation = Simulation()
        self.recalls = Recalls()
        self.stations = [
            Station(self.simulation, reading.cores, is_fair=reading.is_fair)
            for _ in range(reading.shards * reading.replicas)
        ]
        if reading.slow_replica is not None:
            self.stations[reading.slow_replica].slowness = reading.slowness
        self.sigma = spread(figures.recall_p95_over_p50)
        capacity = len(self.stations) * reading.cores / figures.recall_seconds
        self.rate = capacity * reading.utilisation

    def work(self) -> float:
        """Of one recall: log-normal, with the mean of the figures."""
        mean = self.figures.recall_seconds
        return float(self.works.lognormal(math.log(mean) - self.sigma**2 / 2, self.sigma))

    def arrive(self) -> None:
        if self.simulation.now >= self.reading.seconds:
            return
        self.simulation.after(float(self.arrivals.exponential(1 / self.rate)), self.arrive)
        is_hot = self.arrivals.random() < self.reading.hot_share
        tenant = 0 if is_hot else int(self.arrivals.integers(1, self.reading.tenants))
        _Call(self, tenant).send()

    def run(self) -> Recalls:
        self.simulation.after(0.0, self.arrive)
        self.simulation.run(self.reading.seconds * 3)
        busy = sum(one.busy_seconds for one in self.stations)
        self.recalls.busy_share = busy / (len(self.stations) * self.reading.cores * self.reading.seconds)
        return self.recalls


class _Call:
    """One recall, with the jobs that were sent for it."""

    def __init__(self, run: _Run, tenant: int) -> None:
        self.run, self.tenant, self.began = run, tenant, run.simulation.now
        self.jobs: list[Job] = []
        self.is_answered = False
        first = tenant % run.reading.shards * run.reading.replicas
        self.order = [first + int(one) for one in run.orders.permutation(run.reading.replicas)]

    def send(self) -> None:
        job = Job(self.tenant, self.run.work(), self._end)
        self.jobs.append(job)
        self.run.recalls.sent += 1
        self.run.stations[self.order[len(self.jobs) - 1]].submit(job)
        hedge = self.run.reading.hedge_seconds
        if math.isfinite(hedge) and len(self.jobs) == 1 and len(self.order) > 1:
            self.run.simulation.after(hedge, self._hedge)

    def _hedge(self) -> None:
        if not self.is_answered:
            self.run.recalls.hedged += 1
            self.send()

    def _end(self, _: Job) -> None:
        if self.is_answered:
            return
        self.is_answered = True
        for job in self.jobs:
            job.is_cancelled = True
        recalls = self.run.recalls
        recalls.seconds.append(self.run.simulation.now - self.began + self.run.figures.network_seconds)
        recalls.tenants.append(self.tenant)


def recalls(reading: Reading, figures: Parameters, *, seed: int) -> Recalls:
    """Let recalls arrive for a while; all are answered in the end, if the cores can do them."""
    return _Run(reading, figures, seed).run()
