"""A worker finds the previous turns in the log for any messages in any order."""

import asyncio
import random
from typing import Final

import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg

from helix_ingest.extraction.values import LoggedEvent
from helix_ingest.session_turns import CACHE_SECONDS, MOST_VISITED, SessionTurns
from helix_memory import subjects
from helix_memory.events import (
    EraseEvent,
    Event,
    MessageEvent,
    SessionEvent,
    ToolEvent,
    encode_event,
)
from helix_memory.transport.publisher import Publisher
from helix_shared.broker import log, streams
from helix_shared.errors import PermanentError
from helix_shared.published import published_event

pytestmark = pytest.mark.integration

PLENTY: Final = 1 << 20


class LogReads:
    """Counts how often the log is read."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        read = log.last_before

        async def counted(
            client: Client, stream: str, subject: str, sequence: int
        ) -> log.LoggedMessage | None:
            self.count += 1
            return await read(client, stream, subject, sequence)

        monkeypatch.setattr(log, "last_before", counted)


def said(number: int, session: str) -> MessageEvent:
    """A turn of a conversation."""
    return MessageEvent(
        event_id=f"e{number}", tenant_id="acme", session_id=session, role="user", text=f"turn {number}"
    )


async def deliver(client: Client, events: list[Event | bytes]) -> list[Msg]:
    """Publish and fetch; bytes are published as a body that is not an event."""
    publisher = Publisher(client.jetstream())
    for number, event in enumerate(events):
        if isinstance(event, bytes):
            await publisher.publish("helix.v1.events.acme.s0.message", event, message_id=f"bad {number}")
        else:
            await publisher.publish_event(event)
    subscription = await client.jetstream().pull_subscribe_bind(streams.INGEST, subjects.EVENTS_STREAM)
    found: list[Msg] = []
    while len(found) < len(events):
        found += await subscription.fetch(len(events) - len(found), timeout=10)
    return found


async def turns_before(turns: SessionTurns, message: Msg, client: Client) -> list[LoggedEvent] | None:
    """The turns that the worker finds for a delivered message; None if the event is refused."""
    position = message.metadata
    try:
        event = published_event(message.subject, message.data)
    except PermanentError:
        turns.observe(message, None)
        return None
    logged = LoggedEvent(event, position.sequence.stream, position.timestamp)
    turns.observe(message, logged)
    return await turns.before(logged, client)


async def test_worker_that_receives_every_message_reads_the_log_only_at_the_start_of_a_session(
    nats_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two sessions of 20 turns, delivered in order: without a cache most turns need 4 reads."""
    messages = await deliver(nats_client, [said(n, f"s{n % 2}") for n in range(40)])
    reads = LogReads(monkeypatch)
    uncached = SessionTurns(most_bytes=0)
    expected = [await turns_before(uncached, message, nats_client) for message in messages]
    assert reads.count > 100
    reads.count = 0
    turns = SessionTurns(most_bytes=PLENTY)
    assert expected == [await turns_before(turns, message, nats_client) for message in messages]
    assert reads.count <= 2 * 4


@pytest.mark.parametrize("seed", range(4))
async def test_two_workers_with_gaps_and_redeliveries_find_the_turns_of_the_log(
    nats_client: Client, seed: int
) -> None:
    """Messages go to two copies at random, some twice and late, some are handled concurrently."""
    drawn = random.Random(seed)
    events: list[Event | bytes] = []
    for n in range(120):
        session = f"s{drawn.randrange(3)}"
        other = ToolEvent(event_id=f"t{n}", tenant_id="acme", session_id=session, tool="bash", command="ls")
        end = SessionEvent(event_id=f"x{n}", tenant_id="acme", session_id=session, phase="ended")
        events.append(drawn.choices([said(n, session), other, end, b"{}"], weights=[8, 1, 1, 1])[0])
    messages = await deliver(nats_client, events)
    expected = {
        m.metadata.sequence.stream: await turns_before(SessionTurns(most_bytes=0), m, nats_client)
        for m in messages
    }
    copies = [SessionTurns(most_bytes=drawn.choice([9_000, PLENTY])) for _ in range(2)]
    dealt = [message for message in messages if drawn.random() < 0.9]
    dealt += drawn.sample(messages, 40)
    while dealt:
        together, dealt = dealt[:8], dealt[8:]
        chosen = [drawn.choice(copies) if drawn.random() < 0.4 else copies[0] for _ in together]
        found = await asyncio.gather(
            *(turns_before(copy, m, nats_client) for copy, m in zip(chosen, together, strict=True))
        )
        assert found == [expected[m.metadata.sequence.stream] for m in together]


async def test_cached_turns_are_dropped_after_a_minute_and_after_an_erasure(
    nats_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log may have lost turns since, so it is read again."""
    events: list[Event | bytes] = [said(n, "s") for n in range(6)]
    events += [EraseEvent(event_id="x", tenant_id="acme", of_user="ada"), said(7, "s"), said(8, "s")]
    messages = await deliver(nats_client, events)
    reads = LogReads(monkeypatch)
    now = 0.0
    turns = SessionTurns(most_bytes=PLENTY, clock=lambda: now)
    for message in messages[:5]:
        await turns_before(turns, message, nats_client)
    reads.count = 0
    now = CACHE_SECONDS + 1
    await turns_before(turns, messages[5], nats_client)
    assert reads.count == 3
    await turns_before(turns, messages[6], nats_client)
    reads.count = 0
    await turns_before(turns, messages[7], nats_client)
    assert reads.count == 3
    await turns_before(turns, messages[8], nats_client)
    assert reads.count == 3


async def test_refused_event_is_never_a_turn(nats_client: Client) -> None:
    """A body that names another session than its subject is a dead letter, so no memory may quote it."""
    body = encode_event(said(0, "other"))
    messages = await deliver(nats_client, [body, said(1, "s0")])
    for turns in (SessionTurns(most_bytes=0), SessionTurns(most_bytes=PLENTY)):
        assert await turns_before(turns, messages[0], nats_client) is None
        assert await turns_before(turns, messages[1], nats_client) == []


async def test_a_turn_near_a_pronoun_has_the_turns_in_which_the_person_is_looked_for(
    nats_client: Client,
) -> None:
    """Three turns for a plain one, up to nine for one that says "he" or follows one, from cache and log."""
    pronoun = said(6, "s").model_copy(update={"text": "he is late"})
    messages = await deliver(nats_client, [*(said(n, "s") for n in range(6)), pronoun, said(7, "s")])
    for turns in (SessionTurns(most_bytes=0), SessionTurns(most_bytes=PLENTY)):
        found = [await turns_before(turns, message, nats_client) for message in messages]
        assert [len(earlier or []) for earlier in found] == [0, 1, 2, 3, 3, 3, 6, 7]


async def test_any_number_of_refused_messages_costs_a_bounded_number_of_reads(
    nats_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A turn after a million of them would be a dead letter: its handler passes the deadline."""
    jetstream = nats_client.jetstream()
    publishing = [
        jetstream.publish("helix.v1.events.acme.s0.message", b"refused") for _ in range(MOST_VISITED + 9)
    ]
    await asyncio.gather(*publishing)
    await Publisher(jetstream).publish_event(said(0, "s0"))
    found = await log.message_at(nats_client, subjects.EVENTS_STREAM, len(publishing) + 1)
    assert found is not None
    reads, event = LogReads(monkeypatch), published_event(found.subject, found.body)
    turns = SessionTurns(most_bytes=PLENTY)
    assert await turns.before(LoggedEvent(event, found.sequence, found.stored_at), nats_client) == []
    assert reads.count == MOST_VISITED
