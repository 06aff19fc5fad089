"""Stations against closed forms of queueing theory."""

import math

import numpy as np
import pytest

from helix_lab.simulation.engine import Job, Simulation, Station

SERVICE = 0.02


def waits(*, load: float, servers: int = 1, is_exponential: bool, jobs: int, seed: int = 3) -> float:
    """Mean wait in seconds of Poisson arrivals at one station."""
    random, simulation = np.random.default_rng(seed), Simulation()
    station, found = Station(simulation, servers), []

    def arrive() -> None:
        seconds = float(random.exponential(SERVICE)) if is_exponential else SERVICE
        station.submit(Job(0, seconds, lambda job: found.append(simulation.now - job.arrived - job.seconds)))
        if len(found) < jobs:
            simulation.after(float(random.exponential(SERVICE / (load * servers))), arrive)

    simulation.after(0.0, arrive)
    simulation.run(math.inf)
    return float(np.mean(found[jobs // 20 :]))


def erlang_c_wait(load: float, servers: int) -> float:
    """Mean wait of M/M/c (Erlang C)."""
    offered = load * servers
    below = sum(offered**k / math.factorial(k) for k in range(servers))
    last = offered**servers / math.factorial(servers) / (1 - load)
    return last / (below + last) * SERVICE / (servers * (1 - load))


@pytest.mark.parametrize("load", [0.5, 0.8])
def test_random_work_waits_as_mm1_says(load: float) -> None:
    """Pollaczek and Khinchine: load / (1 - load) service times."""
    expected = SERVICE * load / (1 - load)
    assert waits(load=load, is_exponential=True, jobs=150_000) == pytest.approx(expected, rel=0.08)


@pytest.mark.parametrize("load", [0.5, 0.8])
def test_equal_work_waits_half_as_long_as_md1_says(load: float) -> None:
    """Half of M/M/1: without variance of the work half of the wait goes."""
    expected = SERVICE * load / (1 - load) / 2
    assert waits(load=load, is_exponential=False, jobs=150_000) == pytest.approx(expected, rel=0.08)


def test_several_servers_wait_as_erlang_says() -> None:
    """Four servers at a load of .8."""
    found = waits(load=0.8, servers=4, is_exponential=True, jobs=150_000)
    assert found == pytest.approx(erlang_c_wait(0.8, 4), rel=0.08)


def test_the_closed_forms_tell_the_two_apart() -> None:
    """The control: equal work at the place of random work is no M/M/1."""
    found = waits(load=0.8, is_exponential=False, jobs=50_000)
    assert found != pytest.approx(SERVICE * 0.8 / 0.2, rel=0.3)


def order(*, is_fair: bool, cancelled: int | None = None) -> list[int]:
    """Tenants in the order of service: five jobs of tenant 1, then one of tenant 2, while one job runs."""
    simulation, served = Simulation(), []
    station = Station(simulation, 1, is_fair=is_fair)
    jobs = [Job(tenant, 1.0, lambda job: served.append(job.tenant)) for tenant in (0, 1, 1, 1, 1, 1, 2)]
    for job in jobs:
        station.submit(job)
    if cancelled is not None:
        jobs[cancelled].is_cancelled = True
    simulation.run(100.0)
    return served


def test_a_fair_station_serves_tenants_in_turn() -> None:
    """The job of another tenant does not wait for all of the first; in the order of arrival it does."""
    assert order(is_fair=True) == [0, 1, 2, 1, 1, 1, 1]
    assert order(is_fair=False) == [0, 1, 1, 1, 1, 1, 2]


def test_a_withdrawn_job_takes_no_server() -> None:
    """One that already runs ends."""
    assert order(is_fair=False, cancelled=2) == [0, 1, 1, 1, 1, 2]
    assert order(is_fair=False, cancelled=0) == [0, 1, 1, 1, 1, 1, 2]
