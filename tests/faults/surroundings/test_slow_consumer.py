"""Workers that are slower than their publishers, over a connection that is slow as well."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import pytest
from nats.js import api

from helix_cli.clients.broker import connected
from helix_cli.stack.stack import Stack
from helix_memory import subjects
from helix_memory.transport.polling import poll
from helix_shared.artifacts.generation.folders import current_number
from helix_shared.broker import streams
from helix_shared.broker.server import free_port
from tests.faults.conftest import Report
from tests.faults.crashes.comparing import (
    Left,
    left_of,
    opened,
    stack_of,
    start,
)
from tests.faults.crashes.workload import Ledger, lost_and_twice

from .proxy import CHUNK, Proxy

pytestmark = [pytest.mark.faults, pytest.mark.timeout(7_200)]

EVENTS, CONTROL_EVENTS = 3_000, 120
MOST_OUT: Final = 40
"""`max_ack_pending` of the slow consumers."""
COPIES: Final = {"forwarder": 0}
SECONDS: Final = 600.0
SLOW = """
import sys, time

if "helix_ingest" in getattr(sys, "orig_argv", []):
    from helix_ingest import memories_builder

    sound = memories_builder.MemoriesBuilder.build

    def build(self, logged, earlier):
        time.sleep(0.05)
        return sound(self, logged, earlier)

    memories_builder.MemoriesBuilder.build = build
"""


@dataclass
class Out:
    """The most that was out at once, delivered and not acknowledged, and what waited then."""

    unacknowledged: int = 0
    waiting: int = 0


async def look(url: str, out: Out) -> None:
    """Look at the consumer of ingest."""
    async with connected(url) as jetstream:
        info = await jetstream.consumer_info(subjects.EVENTS_STREAM, streams.INGEST)
        out.unacknowledged = max(out.unacknowledged, info.num_ack_pending or 0)
        out.waiting = max(out.waiting, info.num_pending or 0)


@contextmanager
def slow_stack(folder: Path, models: Path) -> Iterator[tuple[Stack, Proxy]]:
    """A stack whose ingest works slowly, behind a slow network; consolidation has that as well."""
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(SLOW)
    port = free_port()
    with Proxy(port) as proxy:
        own = {f"HELIX_{role}_NATS_URL": proxy.url for role in ("INGEST", "CONSOLIDATION")}
        own["PYTHONPATH"] = str(folder)
        with stack_of(folder / "home", models, copies=COPIES, nats_port=port, environment=own) as stack:
            start(stack)
            yield stack, proxy


def lost_without_acknowledgements(folder: Path, models: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """Events that never become memories when the server counts what it delivers as done."""
    sound = streams.consumer_config

    def config(consumer: streams.DurableConsumer, ack_wait_seconds: float = 60.0) -> api.ConsumerConfig:
        made = sound(consumer, ack_wait_seconds)
        if consumer.name != streams.INGEST:
            return made
        return replace(made, ack_policy=api.AckPolicy.NONE, ack_wait=None, max_ack_pending=None)

    monkeypatch.setattr(streams, "consumer_config", config)
    with slow_stack(folder, models) as (stack, proxy):
        first, held, last = range(3), range(3, CONTROL_EVENTS), range(CONTROL_EVENTS, CONTROL_EVENTS + 3)
        asyncio.run(Ledger().publish(stack.nats_url, first))
        wait_for(stack, first)
        proxy.chunk, proxy.delay_seconds = 512, 0.05
        asyncio.run(Ledger().publish(stack.nats_url, held))
        proxy.cut()
        for _ in poll(SECONDS):
            if proxy.cuts:
                break
        proxy.chunk, proxy.delay_seconds = CHUNK, 0.0
        asyncio.run(Ledger().publish(stack.nats_url, last))
        wait_for(stack, last)  # events are worked on in their order, so nothing of before is on its way
        return lost(stack, held)


def lost(stack: Stack, numbers: range) -> int:
    """How many of the events have no memory."""
    if current_number(stack.home.data) is None:
        return len(numbers)
    generation = opened(stack.home.root)
    try:
        return lost_and_twice(generation, numbers)[0]
    finally:
        generation.close()


def wait_for(stack: Stack, numbers: range) -> None:
    """Wait until each of the events has its memory."""
    if all(lost(stack, numbers) for _ in poll(SECONDS)):
        raise AssertionError(f"{numbers} have no memories")


def test_slow_consumers_lose_nothing(
    tmp_path: Path,
    models_dir: Path,
    undisturbed: Callable[[int], Path],
    monkeypatch: pytest.MonkeyPatch,
    report: Report,
) -> None:
    """No more is out than the consumer allows, the rest waits in the stream, and everything arrives once."""
    events, out, ledger = report.scaled(EVENTS, least=240), Out(), Ledger()
    slow = [replace(one, max_ack_pending=MOST_OUT) for one in streams.CONSUMERS if one.name == streams.INGEST]
    others = [one for one in streams.CONSUMERS if one.name != streams.INGEST]
    with monkeypatch.context() as patched:
        patched.setattr(streams, "CONSUMERS", (*slow, *others))
        with slow_stack(tmp_path / "slow", models_dir) as (stack, proxy):
            proxy.chunk, proxy.delay_seconds = 4_096, 0.01
            thread = threading.Thread(
                target=asyncio.run, args=(ledger.publish(stack.nats_url, range(events)),)
            )
            thread.start()
            while thread.is_alive():
                asyncio.run(look(stack.nats_url, out))
            cuts = proxy.cuts
            proxy.cut()  # what was on its way must come again
            left = left_of(stack, ledger, undisturbed(events), events)
            cuts = proxy.cuts - cuts
    report.counts = {"events": events, "most unacknowledged": out.unacknowledged, "waited": out.waiting}
    report.counts["connections cut"] = cuts
    report.figure = left.figure
    assert left == Left()
    assert 0 < out.unacknowledged <= MOST_OUT
    assert out.waiting > 0, "ingest was not slower than the publisher"
    gone = lost_without_acknowledgements(tmp_path / "control", models_dir, monkeypatch)
    report.control(gone > 0, "without acknowledgements what a slow connection held is lost")
