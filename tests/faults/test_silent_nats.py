"""A NATS server that stays connected and says nothing: typed errors, nothing lost and nothing twice."""

from __future__ import annotations

import asyncio
import signal
import time
from typing import Any
from uuid import uuid4

import pytest
from nats.aio.client import Client

from helix_memory import subjects
from helix_memory.transport.publisher import Publisher
from helix_shared.broker.server import NatsServer

from .conftest import Report
from .crashes.workload import Ledger, stored

pytestmark = pytest.mark.faults

EVENTS = 2_000
SILENCES = 5
WAIT_SECONDS = 120.0


async def publish_through_silence(server: NatsServer, events: int, silences: int) -> Ledger:
    """Publish `events` while the server stops again and again, each time until a publisher got its error."""
    ledger = Ledger()
    publishing = asyncio.create_task(ledger.publish(server.url, range(events)))
    assert server.process
    for silence in range(silences):
        reached = events * silence // silences
        await until(lambda reached=reached: len(ledger.acknowledged) > reached)
        before = ledger.repeats
        server.process.send_signal(signal.SIGSTOP)
        try:
            await until(lambda before=before: ledger.repeats > before)
        finally:
            server.process.send_signal(signal.SIGCONT)
    await asyncio.wait_for(publishing, WAIT_SECONDS * 5)
    return ledger


async def until(is_so: Any) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + WAIT_SECONDS
    while not is_so():
        assert time.monotonic() < deadline, "the publisher neither goes on nor gets an error"
        await asyncio.sleep(0.01)


@pytest.mark.timeout(3_600)
async def test_a_silent_server_loses_and_doubles_nothing(
    nats_server: NatsServer, nats_client: Client, report: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each silence ends with a typed error; what was sent again after it is stored once."""
    events, silences = report.scaled(EVENTS, least=60), report.scaled(SILENCES, least=1)
    ledger = await publish_through_silence(nats_server, events, silences)
    ids = await stored(nats_server.url)
    lost, twice = events - len(ledger.acknowledged), len(ids) - len(set(ids))
    report.counts = {"events": events, "silences": silences, "sent again": ledger.repeats}
    report.figure = f"{lost} lost, {twice} twice"
    assert (lost, twice, len(ids)) == (0, 0, events)
    publish = Publisher.publish

    async def forgetful(self: Publisher, subject: str, body: bytes, **given: Any) -> Any:
        return await publish(self, subject, body, **(given | {"message_id": uuid4().hex}))

    monkeypatch.setattr(Publisher, "publish", forgetful)
    await nats_client.jetstream().purge_stream(subjects.EVENTS_STREAM)
    await publish_through_silence(nats_server, 60, 1)
    report.control(len(await stored(nats_server.url)) > 60, "a retry under another id is stored twice")
