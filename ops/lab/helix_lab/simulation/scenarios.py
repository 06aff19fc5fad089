"""What is tried: a name, rows of figures, and lines for a chart, for each question."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import numpy as np

from helix_lab.simulation.parameters import Parameters
from helix_lab.simulation.reading import Reading, recalls
from helix_lab.simulation.writing import Freshness, Move, Writing, freshness

SHARES: Final = (0.5, 0.95, 0.99)
LOADS: Final = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
HEDGE_SECONDS: Final = 0.05
"""About the p95 of a recall at half of the load."""
SPAN_SECONDS: Final = 2.0
"""Width of a point of a chart over time."""


@dataclass(frozen=True, slots=True)
class Line:
    """Points of a chart."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The answer to one question; rows are for people, lines for the chart."""

    title: str
    x_label: str
    y_label: str
    rows: tuple[dict[str, Any], ...]
    lines: tuple[Line, ...]


Scenario = Callable[[Parameters, int], Outcome]


def load(figures: Parameters, seed: int) -> Outcome:
    """How long recalls take by load, with one and with two replicas of the same cores in all."""
    rows, lines = [], []
    for replicas, cores in ((1, 4), (2, 2)):
        found = []
        for share in LOADS:
            run = recalls(Reading(utilisation=share, replicas=replicas, cores=cores), figures, seed=seed)
            found.append(run.percentile(0.95))
            rows.append(
                {
                    "replicas of a shard": replicas,
                    "cores of a replica": cores,
                    "load": share,
                    **_of(run.percentile),
                }
            )
        lines.append(Line(f"{replicas} x {cores} cores", LOADS, tuple(found)))
    return Outcome(
        "Recalls by load", "work that arrives, share of all cores", "p95, ms", tuple(rows), tuple(lines)
    )


def slow_replica(figures: Parameters, seed: int) -> Outcome:
    """One of eight replicas is slow; with and without hedged reads."""
    rows, lines = [], []
    for hedge in (math.inf, HEDGE_SECONDS):
        name = "hedged" if math.isfinite(hedge) else "not hedged"
        slownesses, found = (1.0, 1.5, 2.0, 3.0, 5.0), []
        for slowness in slownesses:
            reading = Reading(
                utilisation=0.4, slow_replica=0, slowness=slowness, hedge_seconds=hedge, seconds=120
            )
            run = recalls(reading, figures, seed=seed)
            found.append(run.percentile(0.99))
            extra = run.hedged / max(1, run.sent - run.hedged)
            rows.append(
                {"reads": name, "slower by": slowness, **_of(run.percentile), "sent twice": round(extra, 4)}
            )
        lines.append(Line(name, slownesses, tuple(found)))
    return Outcome("One slow replica of eight, load 0.4", "slower by", "p99, ms", tuple(rows), tuple(lines))


def hot_tenant(figures: Parameters, seed: int) -> Outcome:
    """One tenant makes a growing share of the recalls: the times of the others, by order of the queue."""
    rows, lines = [], []
    shares = (0.0, 0.2, 0.4, 0.6, 0.7)
    for is_fair in (True, False):
        name, found = "in turns of tenants" if is_fair else "in the order of arrival", []
        for share in shares:
            run = recalls(
                Reading(utilisation=0.3, hot_share=share, is_fair=is_fair, seconds=120), figures, seed=seed
            )
            others = partial(run.percentile, other_than=0)
            found.append(others(0.95))
            hot = round(run.percentile(0.95, tenants=[0]), 1) if share else ""
            rows.append({"queue": name, "its share": share, "its p95, ms": hot, **_of(others)})
        lines.append(Line(name, shares, tuple(found)))
    return Outcome(
        "One hot tenant, load 0.3; the others",
        "share of all recalls",
        "p95 of the others, ms",
        tuple(rows),
        tuple(lines),
    )


def deaths(figures: Parameters, seed: int) -> Outcome:
    """A leader of NATS dies at 60 s and 180 s, the writer of one of four shards at 120 s and 240 s."""
    calm = Writing()
    died = replace(calm, leader_deaths=(60.0, 180.0), writer_deaths=(120.0, 240.0))
    return _over_time("Deaths of leaders and writers", {"nothing dies": calm, "deaths": died}, figures, seed)


def moves(figures: Parameters, seed: int) -> Outcome:
    """Tenant 0 with 20,000 memories is copied from 60 s on, beside its events, and then switched."""
    calm = Writing(tenants=100)
    moved = replace(calm, move=Move(60.0, 20_000))
    outcome = _over_time(
        "A tenant moves between shards", {"nothing moves": calm, "a move": moved}, figures, seed
    )
    pauses = [
        freshness(replace(moved, move=Move(60.0, 2_000), seconds=100), figures, seed=seed + one)
        for one in range(10)
    ]
    longest = sorted(run.percentile(1.0, tenant=0, since=60, until=80) for run in pauses)
    row = {
        "run": "ten moves: the longest of the moved tenant",
        "p50, s": round(float(np.median(longest)), 2),
        "max, s": round(longest[-1], 2),
    }
    return replace(outcome, rows=(*outcome.rows, row))


def ingest_load(figures: Parameters, seed: int) -> Outcome:
    """Events a second of four ingest cores and four writers until they are recallable."""
    most = 4 / (figures.ingest_seconds + figures.derive_seconds)
    rows, found = [], []
    for share in LOADS:
        run = freshness(Writing(events_per_second=most * share, seconds=200), figures, seed=seed)
        found.append(run.percentile(0.95))
        rows.append({"load": share, "events/s": round(most * share, 1), **_of(run.percentile, unit="s")})
    line = Line("four ingest cores, four writers", LOADS, tuple(found))
    return Outcome(
        "Freshness by load", "work that arrives, share of the ingest cores", "p95, s", tuple(rows), (line,)
    )


def _of(percentile: Callable[[float], float], *, unit: str = "ms") -> dict[str, float]:
    return {f"p{share * 100:g}, {unit}": round(percentile(share), 2) for share in SHARES}


def _over_time(title: str, runs: dict[str, Writing], figures: Parameters, seed: int) -> Outcome:
    rows, lines = [], []
    for name, writing in runs.items():
        run = freshness(writing, figures, seed=seed)
        longest = round(run.percentile(1.0), 2)
        rows.append(
            {
                "run": name,
                **_of(run.percentile, unit="s"),
                "max, s": longest,
                "waiting at the end": run.waiting,
            }
        )
        points = list(_slowest(run, writing.seconds))
        lines.append(Line(name, tuple(x for x, _ in points), tuple(y for _, y in points)))
    return Outcome(title, "published at, s", "slowest until recallable, s", tuple(rows), tuple(lines))


def _slowest(run: Freshness, seconds: float) -> Iterator[tuple[float, float]]:
    for at in np.arange(0.0, seconds, SPAN_SECONDS):
        slowest = run.percentile(1.0, since=at, until=at + SPAN_SECONDS)
        if math.isfinite(slowest):
            yield float(at), slowest


SCENARIOS: Final[dict[str, Scenario]] = {
    "load": load,
    "slow-replica": slow_replica,
    "hot-tenant": hot_tenant,
    "ingest-load": ingest_load,
    "deaths": deaths,
    "moves": moves,
}


def simulate(names: Sequence[str], figures: Parameters, *, seed: int) -> dict[str, Outcome]:
    """The outcomes by name; the same seed gives the same ones."""
    return {name: SCENARIOS[name](figures, seed) for name in names}
