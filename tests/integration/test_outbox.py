"""The outbox of a worker: messages of concurrent handlers are published in one batch."""

import asyncio

import pytest
from nats.aio.client import Client

from helix_memory import subjects
from helix_memory.transport.publisher import PubAck, Publisher
from helix_shared.broker.worker import outbox as outbox_module
from helix_shared.broker.worker.outbox import Outbox
from helix_shared.errors import InvalidInputError

pytestmark = pytest.mark.integration

SUBJECT = "helix.v1.events.acme.s.message"


async def batched(client: Client, sequence: int) -> bool:
    """Whether a stored message came in a batch."""
    found = await client.jetstream().get_msg(subjects.EVENTS_STREAM, sequence)
    return "Nats-Batch-Id" in (found.headers or {})


def an_outbox(client: Client) -> Outbox:
    """A new outbox."""
    return Outbox(client, Publisher(client.jetstream(), timeout_seconds=2))


async def handle(outbox: Outbox, number: int, seconds: float = 0.0) -> PubAck:
    """A handler that works for a while and publishes."""
    with outbox.expecting():
        await asyncio.sleep(seconds)
        return await outbox.publish(SUBJECT, b"{}", message_id=f"m{number}")


async def test_concurrent_messages_are_stored_in_one_batch(nats_client: Client) -> None:
    """Each handler gets the acknowledgement of its own message."""
    outbox = an_outbox(nats_client)
    acks = await asyncio.gather(*(handle(outbox, n, 0.001 * n) for n in range(20)))
    assert [r.sequence for r in acks] == list(range(1, 21))
    assert all([await batched(nats_client, n) for n in range(1, 21)])


async def test_a_full_worker_sends_half_of_its_messages_at_a_time(nats_client: Client) -> None:
    """Handlers that end one after the other need few batches: each has a fixed cost for the server."""
    outbox = an_outbox(nats_client)
    await asyncio.gather(*(handle(outbox, n, 0.012 * n) for n in range(64)))
    stored = [await nats_client.jetstream().get_msg(subjects.EVENTS_STREAM, n) for n in range(1, 65)]
    batches = {(message.headers or {}).get("Nats-Batch-Id") for message in stored}
    assert len(batches) <= 3


async def test_a_message_handled_alone_does_not_wait(
    nats_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without other running handlers it is sent at once."""
    monkeypatch.setattr(outbox_module, "LINGER_SECONDS", 30.0)
    ack = await asyncio.wait_for(handle(an_outbox(nats_client), 1), 5)
    assert (ack.sequence, await batched(nats_client, 1)) == (1, False)


async def test_a_slow_handler_delays_the_others_only_briefly(nats_client: Client) -> None:
    """The others are published after `LINGER_SECONDS`."""
    outbox = an_outbox(nats_client)
    slow = asyncio.create_task(handle(outbox, 9, 30))
    await asyncio.sleep(0)
    await asyncio.wait_for(asyncio.gather(*(handle(outbox, n) for n in range(3))), 5)
    slow.cancel()


async def test_a_repeat_in_a_batch_is_a_duplicate_and_the_others_are_stored(nats_client: Client) -> None:
    """As after the redelivery of an event: the same message id."""
    outbox = an_outbox(nats_client)
    await handle(outbox, 3)
    acks = await asyncio.gather(*(handle(outbox, n) for n in range(6)))
    assert [r.duplicate for r in acks] == [False, False, False, True, False, False]
    assert acks[3].sequence == 1
    state = (await nats_client.jetstream().stream_info(subjects.EVENTS_STREAM)).state
    assert state.messages == 6


async def test_a_refused_message_fails_only_its_own_handler(nats_client: Client) -> None:
    """One body above the stream's limit among good ones."""
    outbox = an_outbox(nats_client)

    async def too_large() -> PubAck:
        with outbox.expecting():
            return await outbox.publish(SUBJECT, b"x" * (300 * 1024), message_id="large")

    results = await asyncio.gather(
        too_large(), *(handle(outbox, n) for n in range(4)), return_exceptions=True
    )
    assert isinstance(results[0], InvalidInputError)
    assert all(isinstance(result, PubAck) for result in results[1:])
