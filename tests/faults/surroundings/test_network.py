"""A network that swallows, delays and cuts: everything goes on, nothing is lost, nothing is there twice."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest

from helix_cli.stack.stack import Stack
from helix_memory.client import Helix
from helix_memory.errors import TemporaryError
from helix_memory.transport.polling import poll
from helix_shared.broker.server import free_port
from tests.faults.conftest import Report
from tests.faults.crashes.comparing import Left, left_of, not_recallable, stack_of, start, until_recallable
from tests.faults.crashes.workload import Ledger, chunks

from .proxy import CHUNK, Proxy

pytestmark = [pytest.mark.faults, pytest.mark.timeout(7_200)]

EVENTS, ROUNDS = 6_000, 10
FAULTS: Final = ("black hole", "cut", "slow")
COPIES: Final = {"forwarder": 0}
ROLES: Final = ("INGEST", "DOC2QUERY", "KG", "CONSOLIDATION")
SECONDS: Final = 300.0
DEADLINE_SECONDS: Final = 2.0
LATE_SECONDS: Final = 20.0
"""Beyond a deadline: that of a machine that is busy."""
WITHOUT_PINGS = """
import sys

if "helix_ingest" in getattr(sys, "orig_argv", []):
    from helix_memory.transport import connection

    connection.PING_SECONDS = 86_400
"""


def through(proxy: Proxy) -> dict[str, str]:
    """Settings with which the workers reach NATS through a proxy."""
    return {f"HELIX_{role}_NATS_URL": proxy.url for role in ROLES}


def wait_until(is_so: Callable[[], bool], what: str, seconds: float = SECONDS) -> float:
    """Wait until something is so; returns how long it took."""
    began = time.monotonic()
    for _ in poll(seconds, every_seconds=0.02):
        if is_so():
            return time.monotonic() - began
    raise AssertionError(what)


def disturb(proxy: Proxy, fault: str, ledger: Ledger, goes_on: threading.Event) -> None:
    """Let a fault begin, last until it was met, and end; the publisher goes on when it has begun."""
    repeats, cuts, acknowledged = ledger.repeats, proxy.cuts, len(ledger.acknowledged)
    match fault:
        case "black hole":
            proxy.is_black_hole = True
        case "cut":
            proxy.cut()
        case "slow":
            proxy.chunk, proxy.delay_seconds = 512, 0.02
    goes_on.set()
    met = {
        "black hole": lambda: ledger.repeats > repeats,
        "cut": lambda: proxy.cuts > cuts,
        "slow": lambda: len(ledger.acknowledged) > acknowledged,
    }
    wait_until(met[fault], f"nobody met the {fault}")
    proxy.is_black_hole, proxy.chunk, proxy.delay_seconds = False, CHUNK, 0.0


def publish_through_faults(proxy: Proxy, events: int, faults: list[str], dice: random.Random) -> Ledger:
    """Publish through the proxy, with one fault in each part of the events."""
    ledger = Ledger()
    for part, fault in zip(chunks(events, len(faults)), faults, strict=True):
        at, goes_on = dice.randrange(part.start, part.stop), threading.Event()

        def numbers(part: range = part, at: int = at, goes_on: threading.Event = goes_on) -> Iterator[int]:
            for number in part:
                if number == at:
                    goes_on.wait()
                yield number

        thread = threading.Thread(target=asyncio.run, args=(ledger.publish(proxy.url, numbers()),))
        thread.start()
        wait_until(lambda least=at: len(ledger.acknowledged) >= least, f"publishing is stuck before {fault}")
        disturb(proxy, fault, ledger, goes_on)
        thread.join(SECONDS)
        assert not thread.is_alive(), f"publishing does not go on after {fault}"
    return ledger


def failed_in_time(call: Callable[[], object]) -> bool:
    """Whether a call ends with a typed error at its deadline."""
    began = time.monotonic()
    try:
        call()
    except TemporaryError:  # an OverdueError, or that nothing answers
        return time.monotonic() - began < DEADLINE_SECONDS + LATE_SECONDS
    return False


def answers(call: Callable[[], object]) -> bool:
    """Whether a call is answered."""
    try:
        call()
    except TemporaryError:
        return False
    return True


def calls_in_a_black_hole(stack: Stack) -> int:
    """Calls of a client that end with a typed error at their deadline when the network has gone."""
    nats, query = (int(address.rpartition(":")[2]) for address in (stack.nats_url, stack.query_address))
    with (
        Proxy(nats) as log,
        Proxy(query) as reads,
        Helix(
            tenant="acme", nats_port=log.port, query_port=reads.port, deadline_seconds=DEADLINE_SECONDS
        ) as one,
    ):
        wait_until(lambda: answers(lambda: one.remember("The spare rack is number 7.")), "no write")
        wait_until(lambda: answers(lambda: one.recall("which rack?")), "no read")
        log.is_black_hole = reads.is_black_hole = True
        writes = failed_in_time(lambda: one.remember("Rack 8 is empty."))
        found = failed_in_time(lambda: one.recall("which rack?"))
        listed = failed_in_time(one.profile)
        log.is_black_hole = reads.is_black_hole = False
        wait_until(lambda: answers(lambda: one.recall("which rack?")), "reads do not go on")
        wait_until(lambda: answers(lambda: one.remember("Rack 9 is full.")), "writes do not go on")
    return writes + found + listed


def recovers(home: Path, models: Path, environment: Mapping[str, str], *, within: float) -> bool:
    """Whether ingest goes on when its connection has disappeared and the network works again."""
    port = free_port()
    with Proxy(port) as proxy:
        own = {"HELIX_INGEST_NATS_URL": proxy.url} | environment
        with stack_of(home, models, copies=COPIES, nats_port=port, environment=own) as stack:
            start(stack)
            ledger = Ledger()
            asyncio.run(ledger.publish(stack.nats_url, range(3)))
            until_recallable(stack)
            proxy.is_black_hole = True
            wait_until(lambda: proxy.dead > 0, "ingest sends nothing")
            proxy.is_black_hole = False
            asyncio.run(ledger.publish(stack.nats_url, range(3, 6)))
            return any(
                not_recallable(stack.query_address, ledger.acknowledged) == 0
                for _ in poll(within, every_seconds=0.5)
            )


def test_a_bad_network_loses_and_doubles_nothing(
    tmp_path: Path, models_dir: Path, undisturbed: Callable[[int], Path], report: Report
) -> None:
    """After each fault the workers go on; a call ends at its deadline with a typed error."""
    rounds, dice = report.scaled(ROUNDS), random.Random(report.seed)
    events = report.scaled(EVENTS, least=20 * rounds * len(FAULTS))
    faults, port = [*FAULTS] * rounds, free_port()
    dice.shuffle(faults)
    with Proxy(port) as proxy:
        settings = through(proxy)
        with stack_of(
            tmp_path / "home", models_dir, copies=COPIES, nats_port=port, environment=settings
        ) as stack:
            start(stack)
            ledger = publish_through_faults(proxy, events, faults, dice)
            left = left_of(stack, ledger, undisturbed(events), events)
            calls = calls_in_a_black_hole(stack)
            cuts = proxy.cuts
    report.counts = {"events": events, "faults": len(faults), "connections cut": cuts}
    report.counts |= {"sent again": ledger.repeats, "typed errors at the deadline": calls}
    report.figure = left.figure
    assert (left, calls) == (Left(), 3)
    began = time.monotonic()
    assert recovers(tmp_path / "pings", models_dir, {}, within=SECONDS)
    patience = min(60.0, 2 * (time.monotonic() - began))
    (tmp_path / "sitecustomize.py").write_text(WITHOUT_PINGS)
    without = {"PYTHONPATH": str(tmp_path)}
    recovered = recovers(tmp_path / "no pings", models_dir, without, within=patience)
    report.control(not recovered, "without pings a worker never learns that its connection is gone")
