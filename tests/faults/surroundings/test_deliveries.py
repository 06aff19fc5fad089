"""Every message five times and in another order: the same memories as from one delivery in order."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from helix_cli.clients.broker import connected
from helix_cli.stack.stack import Stack
from helix_shared.broker import streams
from tests.faults.conftest import Report
from tests.faults.crashes.comparing import Left, left_of, opened, stack_of, start, until_recallable
from tests.faults.crashes.workload import Ledger

pytestmark = [pytest.mark.faults, pytest.mark.timeout(7_200)]

EVENTS, CONTROL_EVENTS = 2_000, 4
TIMES: Final = 5
AGAIN = f"""
import os, random, sys

if any(one.startswith("helix_") for one in getattr(sys, "orig_argv", [])):
    from helix_shared.broker import pull, settlement

    dice, fetched = random.Random(int(os.environ["SEED"])), pull.fetch

    async def acknowledge(message):
        if message.metadata.num_delivered < {TIMES}:
            await message.nak(delay=dice.uniform(0.001, 1.5))
        else:
            await message.ack()

    async def fetch(*arguments):
        messages = await fetched(*arguments)
        dice.shuffle(messages)
        return messages

    settlement.acknowledge, pull.fetch = acknowledge, fetch
"""
OF_ITS_OWN = """
if "helix_ingest" in getattr(sys, "orig_argv", []):
    import uuid
    from helix_ingest import rows
    from helix_shared.broker.worker import outbox

    rows.memory_id = lambda *_: uuid.uuid4().hex
    publish = outbox.Outbox.publish
    outbox.Outbox.publish = lambda self, subject, body, *, message_id, headers=None: publish(
        self, subject, body, message_id=uuid.uuid4().hex, headers=headers)
"""


async def deliveries(url: str) -> dict[str, int]:
    """How many deliveries each consumer got."""
    found = {}
    async with connected(url) as jetstream:
        for one in streams.CONSUMERS:
            info = await jetstream.consumer_info(one.stream, one.name)
            if info.delivered is not None:
                found[one.name] = info.delivered.consumer_seq
    return found


def repeating(folder: Path, models: Path, seed: int, *, added: str = "") -> Stack:
    """A stack whose processes ask for every message again, and shuffle what they fetch."""
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(AGAIN + added)
    own = {"PYTHONPATH": str(folder), "SEED": str(seed)}
    return stack_of(folder / "home", models, environment=own)


def test_five_deliveries_in_any_order_are_one(
    tmp_path: Path, models_dir: Path, undisturbed: Callable[[int], Path], report: Report
) -> None:
    """Workers and writer get each message five times; the state is that of one delivery in order."""
    events, ledger = report.scaled(EVENTS, least=60), Ledger()
    with repeating(tmp_path / "repeated", models_dir, report.seed) as stack:
        start(stack)
        asyncio.run(ledger.publish(stack.nats_url, range(events)))
        left = left_of(stack, ledger, undisturbed(events), events)
        delivered = asyncio.run(deliveries(stack.nats_url))
    fewest = min(delivered[name] for name in (streams.INGEST, streams.DOC2QUERY, streams.KG))
    report.counts = {"events": events, "deliveries to ingest": delivered[streams.INGEST]}
    report.counts["deliveries to consolidation"] = delivered[streams.CONSOLIDATION_DERIVED]
    report.figure = left.figure
    assert left == Left()
    assert fewest >= TIMES * events
    assert delivered[streams.CONSOLIDATION_DERIVED] >= TIMES * 3 * events
    with repeating(tmp_path / "control", models_dir, report.seed, added=OF_ITS_OWN) as stack:
        start(stack)
        asyncio.run(Ledger().publish(stack.nats_url, range(CONTROL_EVENTS)))
        until_recallable(stack)
        generation = opened(stack.home.root)
        memories = len(generation.signals)
        generation.close()
    report.control(memories > CONTROL_EVENTS, "with an id of its own each delivery makes a memory")
