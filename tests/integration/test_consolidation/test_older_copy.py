"""A data folder that is an older copy gets again what was acknowledged since, where a stream still has it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from nats.js import JetStreamContext

from helix_consolidation.delivery.streams.stream_state import reconcile_derived_position, request_redelivery
from helix_consolidation.ledger.consolidation_state import ConsolidationState
from helix_memory import subjects
from helix_memory.events import ForgetEvent
from helix_shared.broker import streams

from .conftest import Stack, row

pytestmark = pytest.mark.integration


async def acknowledge(jetstream: JetStreamContext, stream: str, durable: str, count: int) -> None:
    """Read and acknowledge so many messages, as the writer of the newer folder did."""
    subscription = await jetstream.pull_subscribe_bind(durable=durable, stream=stream)
    for message in await subscription.fetch(count, timeout=20):
        await message.ack_sync()
    await subscription.unsubscribe()


async def pending(jetstream: JetStreamContext, stream: str, durable: str) -> int:
    """Number of messages that a consumer will deliver."""
    return (await jetstream.consumer_info(stream, durable)).num_pending or 0


async def test_lifecycle_events_that_an_older_copy_lacks_are_delivered_again(stack: Stack) -> None:
    """Two forgets were acknowledged; the copy holds the first."""
    jetstream, durable = stack.client.jetstream(), streams.CONSOLIDATION_LIFECYCLE
    for number in (1, 2):
        await stack.publish_event(ForgetEvent(event_id=f"f{number}", tenant_id="acme", of_session="s"))
    await acknowledge(jetstream, subjects.EVENTS_STREAM, durable, 2)
    state = ConsolidationState()
    for applied, wanted in ((2, 0), (1, 1)):
        state.applied.skip_to(applied)
        await request_redelivery(jetstream, state)
        assert await pending(jetstream, subjects.EVENTS_STREAM, durable) == wanted
        state = ConsolidationState()


async def test_sequences_that_a_truncated_stream_gives_again_are_taken(stack: Stack) -> None:
    """The server has dropped the last two of three messages; what comes in their places is new."""
    jetstream, durable = stack.client.jetstream(), streams.CONSOLIDATION_DERIVED
    await stack.log_events(2)
    await stack.derive("e0", 1, [row("e0", 1, "text 0")])
    await acknowledge(jetstream, subjects.DERIVED_STREAM, durable, 1)
    state = ConsolidationState()
    for sequence in (1, 2, 3):
        state.derived.mark(sequence)
    assert await reconcile_derived_position(jetstream, state) == 0
    await stack.derive("e1", 2, [row("e1", 2, "text 1")])
    assert 1 in state.derived
    assert 2 not in state.derived
    assert await pending(jetstream, subjects.DERIVED_STREAM, durable) == 1


async def test_sequences_that_were_given_again_are_told_by_their_time(stack: Stack) -> None:
    """The stream has grown past its old end: messages 2 and 3 are younger than the generation with them."""
    jetstream, durable = stack.client.jetstream(), streams.CONSOLIDATION_DERIVED
    await stack.log_events(5)
    published_at = datetime.now(UTC)
    for number in range(5):
        if number == 1:
            published_at = datetime.now(UTC)
        await stack.derive(f"e{number}", number + 1, [row(f"e{number}", number + 1, f"text {number}")])
    await acknowledge(jetstream, subjects.DERIVED_STREAM, durable, 3)
    for missing in (0, 3):
        if missing:
            await jetstream.delete_msg(subjects.DERIVED_STREAM, missing)
        state = ConsolidationState()
        for sequence in (1, 2, 3):
            state.derived.mark(sequence)
        assert await reconcile_derived_position(jetstream, state, published_at=datetime.now(UTC)) == 0
        assert state.derived.floor == 3
        assert await reconcile_derived_position(jetstream, state, published_at=published_at) == 2
        assert state.derived.floor == 1
    await request_redelivery(jetstream, state)
    assert await pending(jetstream, subjects.DERIVED_STREAM, durable) == 3


async def test_derived_messages_that_an_older_copy_lacks_are_delivered_again(stack: Stack) -> None:
    """Of three that were acknowledged it has the first and the last; a removed one is skipped."""
    jetstream, durable = stack.client.jetstream(), streams.CONSOLIDATION_DERIVED
    await stack.log_events(3)
    for number in range(3):
        await stack.derive(f"e{number}", number + 1, [row(f"e{number}", number + 1, f"text {number}")])
    await acknowledge(jetstream, subjects.DERIVED_STREAM, durable, 3)
    state = ConsolidationState()
    for sequence in (1, 3):
        state.derived.mark(sequence)
    assert await reconcile_derived_position(jetstream, state) == 2
    await request_redelivery(jetstream, state)
    assert (state.derived.floor, await pending(jetstream, subjects.DERIVED_STREAM, durable)) == (1, 2)
    await acknowledge(jetstream, subjects.DERIVED_STREAM, durable, 2)
    await jetstream.delete_msg(subjects.DERIVED_STREAM, 2)
    assert await reconcile_derived_position(jetstream, state) == 0
    assert state.derived.floor == 3
