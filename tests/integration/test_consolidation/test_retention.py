"""A derived message is kept while a consumer is missing, and removed once all acknowledged it."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

import pytest
from nats.js import JetStreamContext, api

from helix_consolidation.delivery.streams.prune import readers_of
from helix_memory import subjects
from helix_shared.broker import streams
from helix_shared.broker.provisioning.provision import provision

from .conftest import ACK_WAIT_SECONDS, PATIENCE_SECONDS, Stack, row

pytestmark = pytest.mark.integration


async def acknowledge_all(jetstream: JetStreamContext, durable: str) -> int:
    """Acknowledge all messages of a consumer; returns their number."""
    subscription = await jetstream.pull_subscribe_bind(durable=durable, stream=subjects.DERIVED_STREAM)
    count = 0
    while True:
        try:
            messages = await subscription.fetch(100, timeout=0.5)
        except TimeoutError:
            await subscription.unsubscribe()
            return count
        for message in messages:
            await message.ack_sync()
        count += len(messages)


async def left(jetstream: JetStreamContext) -> int:
    """Messages in HELIX_DERIVED."""
    return (await jetstream.stream_info(subjects.DERIVED_STREAM)).state.messages


async def until_left(jetstream: JetStreamContext, count: int) -> None:
    """Wait until HELIX_DERIVED holds `count` messages."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while (found := await left(jetstream)) != count:
        assert time.monotonic() < deadline, f"{found} messages"
        await asyncio.sleep(0.1)


async def test_messages_published_without_consumers_are_applied_and_then_removed(stack: Stack) -> None:
    """All consumers deleted, three events derived, provisioned again: all are applied, then removed."""
    jetstream = stack.client.jetstream()
    await stack.log_events(3)
    for name in readers_of(1):
        await jetstream.delete_consumer(subjects.DERIVED_STREAM, name)
    for number in range(3):
        await stack.derive(f"e{number}", number + 1, [row(f"e{number}", number + 1, f"text {number}")])
    assert await left(jetstream) == 3
    await provision(jetstream, ack_wait_seconds=ACK_WAIT_SECONDS)
    stack.start()
    manifest = await stack.until(lambda m: m.applied_sequence == 3)
    assert manifest.counts.memories == 3
    await stack.until_acknowledged()
    assert await left(jetstream) == 3, "kg and doc2query have not read them"
    assert await acknowledge_all(jetstream, streams.KG) == 3
    assert await acknowledge_all(jetstream, streams.DOC2QUERY) == 3
    await until_left(jetstream, 0)


async def test_a_message_that_one_consumer_still_needs_is_kept(stack: Stack) -> None:
    """The consumer of kg is deleted and provisioned again: nothing is removed before it has read all."""
    jetstream = stack.client.jetstream()
    await stack.log_events(2)
    process = stack.start()
    await jetstream.delete_consumer(subjects.DERIVED_STREAM, streams.KG)
    for number in range(2):
        await stack.derive(f"e{number}", number + 1, [row(f"e{number}", number + 1, f"text {number}")])
        await stack.enrich(f"e{number}", number + 1)
    await stack.until_acknowledged()
    await acknowledge_all(jetstream, streams.DOC2QUERY)
    await stack.until_logged(process, "run `helix provision`")
    assert await left(jetstream) == 6
    await provision(jetstream, ack_wait_seconds=ACK_WAIT_SECONDS)
    assert await acknowledge_all(jetstream, streams.KG) == 2
    await until_left(jetstream, 0)


async def test_provisioning_changes_the_retention_of_an_existing_stream(stack: Stack) -> None:
    """A stream with interest retention keeps its messages and gets the new retention."""
    jetstream = stack.client.jetstream()
    config = (await jetstream.stream_info(subjects.DERIVED_STREAM)).config
    await jetstream.update_stream(replace(config, retention=api.RetentionPolicy.INTEREST))
    await stack.log_events(2)
    await stack.derive("e0", 1, [row("e0", 1, "one")])
    await provision(jetstream, ack_wait_seconds=ACK_WAIT_SECONDS)
    for name in readers_of(1):
        await jetstream.delete_consumer(subjects.DERIVED_STREAM, name)
    await stack.derive("e1", 2, [row("e1", 2, "two")])
    assert await left(jetstream) == 2
