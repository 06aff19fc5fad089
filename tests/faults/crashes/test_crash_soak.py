"""20,000 events and 55 kills of every process: the same memories as without a kill."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from helix_cli.clients.broker import connected
from helix_cli.rebuilding.parity import columns
from helix_cli.stack import supervisor
from helix_cli.stack.stack import Stack
from helix_memory import subjects
from helix_memory.transport.polling import poll
from helix_shared.broker import streams
from helix_shared.errors import HelixError
from tests.faults.conftest import Report

from .comparing import (
    AT_ANOTHER_TIME,
    different,
    not_recallable,
    opened,
    stack_of,
    start,
    until_recallable,
)
from .workload import Ledger, chunks, lost_and_twice

pytestmark = [pytest.mark.faults, pytest.mark.timeout(10_800)]

EVENTS = 20_000
KILLS = {"ingest": 12, "doc2query": 9, "kg": 9, "consolidation": 10, "nats": 10, "query": 5}
READ_BY = (
    (subjects.EVENTS_STREAM, streams.INGEST),
    (subjects.DERIVED_STREAM, streams.DOC2QUERY),
    (subjects.DERIVED_STREAM, streams.KG),
)
CONTROL_EVENTS, KILLED_AT = 120, 30
ACK_FIRST = f"""
import os, pathlib, signal, sys

if "helix_ingest" in getattr(sys, "orig_argv", []):
    from helix_shared.broker import settlement

    sound, done, once = settlement.settle, [], pathlib.Path(os.environ["ONCE"])

    async def settle(message, handle, **options):
        await message.ack()
        await message._client.flush()
        message._ackd = False
        done.append(message)
        if len(done) >= {KILLED_AT} and not once.exists():
            once.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        await sound(message, handle, **options)

    settlement.settle = settle
"""


def kill(stack: Stack, role: str, dice: random.Random) -> None:
    """SIGKILL a process of a role that runs."""
    children = [child for child in stack.processes if child.name.partition("-")[0] == role]
    for _ in poll(60, every_seconds=0.05):
        if alive := [child for child in children if child.ended() is None]:
            stack.kill(role, children.index(dice.choice(alive)))
            return
    raise AssertionError(f"{role} was not started again")


def run_with_kills(stack: Stack, events: int, kills: Sequence[str], dice: random.Random) -> Ledger:
    """Publish while processes are killed, one in each part of the events; returns what was acknowledged."""
    ledger = Ledger()
    for numbers, role in zip(chunks(events, len(kills)), kills, strict=True):
        thread = threading.Thread(target=asyncio.run, args=(ledger.publish(stack.nats_url, numbers),))
        thread.start()
        threshold = dice.randrange(numbers.start, max(numbers.stop, numbers.start + 1))
        while len(ledger.acknowledged) < threshold and thread.is_alive():
            time.sleep(0.002)
        kill(stack, role, dice)
        thread.join()
    return ledger


def lost_with_ack_first(folder: Path, models: Path) -> int:
    """Events that never become memories when ingest acknowledges before it has worked, and is killed."""
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(ACK_FIRST)
    environment = {"PYTHONPATH": str(folder), "ONCE": str(folder / "once")}
    with stack_of(folder / "home", models, environment=environment) as stack:
        stack.wait_ready()
        asyncio.run(Ledger().publish(stack.nats_url, range(CONTROL_EVENTS)))

        async def derived() -> int | None:
            """Events whose three derived messages are there, once no worker waits for a message."""
            if not (folder / "once").exists():
                return None
            async with connected(stack.nats_url) as jetstream:
                for stream, name in READ_BY:
                    info = await jetstream.consumer_info(stream, name)
                    if info.num_pending or info.num_ack_pending:
                        return None
                state = (await jetstream.stream_info(subjects.DERIVED_STREAM)).state
                return None if state.last_seq % 3 else state.last_seq // 3

        last = None
        for _ in poll(300, every_seconds=3.0):  # twice the same: what it holds in memory is published, too
            try:
                now = asyncio.run(derived())
            except HelixError:
                continue
            if now is not None and now == last:
                return CONTROL_EVENTS - now
            last = now
    raise AssertionError("ingest does not come to an end")


def test_55_kills_lose_and_double_nothing_and_change_nothing(
    tmp_path: Path, models_dir: Path, monkeypatch: pytest.MonkeyPatch, report: Report
) -> None:
    """Every acknowledged event is one memory, and everything is as in a run without a kill."""
    monkeypatch.setattr(supervisor, "restart_delay", lambda _: supervisor.FIRST_DELAY_SECONDS)
    monkeypatch.setattr(columns, "OF_ITS_OWN", AT_ANOTHER_TIME)
    events, dice = report.scaled(EVENTS, least=240), random.Random(report.seed)
    kills = [role for role, count in KILLS.items() for _ in range(report.scaled(count))]
    dice.shuffle(kills)
    seconds = {}
    for name, wanted in (("undisturbed", ()), ("killed", kills)):
        began = time.monotonic()
        with stack_of(tmp_path / name, models_dir) as stack:
            start(stack)
            if wanted:
                ledger = run_with_kills(stack, events, wanted, dice)
            else:
                asyncio.run(Ledger().publish(stack.nats_url, range(events)))
            until_recallable(stack)
            if wanted:
                missing = not_recallable(stack.query_address, ledger.acknowledged)
        seconds[name] = time.monotonic() - began
    generation = opened(tmp_path / "killed")
    lost, twice = lost_and_twice(generation, ledger.acknowledged)
    generation.close()
    differing = different(tmp_path / "undisturbed", tmp_path / "killed", events)
    report.counts = {"events": events, "acknowledged": len(ledger.acknowledged), "kills": len(kills)}
    report.counts |= {"sent again": ledger.repeats} | {
        f"{name} seconds": int(s) for name, s in seconds.items()
    }
    report.figure = f"{max(lost, missing)} lost, {twice} twice, {differing or 'nothing'} different"
    assert (len(ledger.acknowledged), missing, lost, twice, differing) == (events, 0, 0, 0, {})
    lost = lost_with_ack_first(tmp_path / "control", models_dir)
    report.counts["lost by an ack before the work"] = lost
    report.control(lost > 0, "an ack before the work loses what a killed worker held")
