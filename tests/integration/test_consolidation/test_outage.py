"""NATS stops and restarts, or loses the lease bucket: the writer waits and recovers by itself."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from helix_memory import subjects
from helix_memory.transport.connection import connect
from helix_shared.broker import streams
from helix_shared.broker.provisioning.provision import provision
from helix_shared.broker.server import NatsServer

from .conftest import ACK_WAIT_SECONDS, Stack, row

pytestmark = pytest.mark.integration

LEASE_SECONDS = 2.0
SHORTER, LONGER = 0.5, 2 * LEASE_SECONDS
"""Outages that a lease survives and does not survive."""
OUTAGES = ((0.0, SHORTER), (0.1, LONGER), (0.25, SHORTER), (0.4, LONGER), (0.7, SHORTER), (1.0, LONGER))
"""Seconds after publishing when the server is killed, and how long it is away."""
EACH = 20


@pytest.fixture
async def brief(server: NatsServer, tmp_path: Path) -> AsyncIterator[Stack]:
    """A stack whose leases expire after two seconds."""
    client = await connect(server.url, name="test")
    await provision(client.jetstream(), ack_wait_seconds=ACK_WAIT_SECONDS, lease_seconds=LEASE_SECONDS)
    made = Stack(server.url, tmp_path / "data", client)
    yield made
    made.end()
    await client.close()


async def derive_some(stack: Stack, first: int, count: int) -> None:
    """Publish the memories messages of events `first` and up."""
    for number in range(first, first + count):
        await stack.derive(f"e{number}", number + 1, [row(f"e{number}", number + 1, f"text {number}")])


@pytest.mark.long
async def test_a_writer_survives_outages_at_any_moment(brief: Stack, server: NatsServer) -> None:
    """Six kills of the server while messages arrive, are applied and published: nothing is lost."""
    total = EACH * len(OUTAGES)
    await brief.log_events(total)
    process = brief.start(batch_messages="2", apply_interval_seconds="0", publish_interval_seconds="0.1")
    await derive_some(brief, 0, 1)
    await brief.until(lambda m: m.applied_sequence == 1)
    for number, (moment, seconds) in enumerate(OUTAGES):
        publishing = asyncio.create_task(derive_some(brief, number * EACH, EACH))
        await asyncio.sleep(moment)
        server.kill()
        await asyncio.sleep(seconds)
        server.start()
        await publishing
        await brief.until(lambda m, end=(number + 1) * EACH: m.applied_sequence == end)
        assert process.poll() is None, brief.log(process)
    await brief.until_acknowledged()
    assert len(brief.rows()) == total
    letters = await brief.client.jetstream().stream_info(subjects.DLQ_STREAM)
    assert letters.state.messages == 0


async def test_a_lease_bucket_created_again_does_not_lower_the_epoch(brief: Stack) -> None:
    """Deleted while the writer runs, then provisioned: the same process continues with a later epoch."""
    await brief.log_events(2)
    jetstream = brief.client.jetstream()
    bucket = await jetstream.key_value(streams.LEASES)
    for _ in range(20):
        await bucket.put("another.key", b"")
    process = brief.start()
    await derive_some(brief, 0, 1)
    before = await brief.until(lambda m: m.applied_sequence == 1)
    assert before.epoch > 20
    await jetstream.delete_key_value(streams.LEASES)
    await brief.until_logged(process, "run `helix provision`")
    await provision(jetstream, ack_wait_seconds=ACK_WAIT_SECONDS, lease_seconds=LEASE_SECONDS)
    await derive_some(brief, 1, 1)
    after = await brief.until(lambda m: m.applied_sequence == 2)
    assert after.epoch > before.epoch
    assert process.poll() is None
    entry = await (await jetstream.key_value(streams.LEASES)).get(streams.writer_key(0))
    assert (entry.revision or 0) >= after.epoch


async def test_a_writer_starts_with_a_lease_bucket_created_again(brief: Stack) -> None:
    """Deleted while no writer runs: no manual step is needed."""
    await brief.log_events(2)
    brief.start()
    await derive_some(brief, 0, 1)
    jetstream = brief.client.jetstream()
    before = await brief.until(lambda m: m.applied_sequence == 1)
    await brief.stopped()
    await jetstream.delete_key_value(streams.LEASES)
    await provision(jetstream, ack_wait_seconds=ACK_WAIT_SECONDS, lease_seconds=LEASE_SECONDS)
    brief.start()
    await derive_some(brief, 1, 1)
    after = await brief.until(lambda m: m.applied_sequence == 2)
    assert after.epoch > before.epoch
