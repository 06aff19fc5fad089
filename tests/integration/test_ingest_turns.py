"""Turns kept by a worker are the turns of the log, whatever was delivered to whom and in which order."""

import asyncio
import random
from typing import Final

import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg

from helix_ingest.consumer import read_event
from helix_ingest.extraction.draft import Logged
from helix_ingest.session_turns import KEPT_SECONDS, FairExecutor
from helix_memory import subjects
from helix_memory.events import EraseEvent, Event, MessageEvent, SessionEvent, ToolEvent
from helix_shared.broker import log, streams
from helix_shared.broker.publisher import Publisher
from helix_shared.errors import PermanentError

pytestmark = pytest.mark.integration

PLENTY: Final = 1 << 20


class Counted:
    """How often the log was read."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.reads = 0
        read = log.last_before

        async def counted(
            client: Client, stream: str, subject: str, sequence: int
        ) -> log.LoggedMessage | None:
            self.reads += 1
            return await read(client, stream, subject, sequence)

        monkeypatch.setattr(log, "last_before", counted)


def said(number: int, session: str) -> MessageEvent:
    """A turn."""
    return MessageEvent(
        event_id=f"e{number}", tenant_id="acme", session_id=session, role="user", text=f"turn {number}"
    )


async def deliver(client: Client, events: list[Event | bytes]) -> list[Msg]:
    """Publish and fetch; bytes are the body of a message no event is in."""
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


async def turns_before(turns: FairExecutor, message: Msg, client: Client) -> list[Logged] | None:
    """What the worker finds for a delivered message."""
    turns.note(message)
    try:
        logged = read_event(message)
    except PermanentError:
        return None
    return await turns.before(logged, client)


async def test_one_worker_that_is_given_everything_reads_the_log_only_where_a_session_begins(
    nats_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two sessions of 20 turns, delivered in order: a worker that keeps nothing needs 4 reads for most."""
    messages = await deliver(nats_client, [said(n, f"s{n % 2}") for n in range(40)])
    counted = Counted(monkeypatch)
    forgetful = FairExecutor(most_bytes=0)
    expected = [await turns_before(forgetful, message, nats_client) for message in messages]
    assert counted.reads > 100
    counted.reads = 0
    turns = FairExecutor(most_bytes=PLENTY)
    assert expected == [await turns_before(turns, message, nats_client) for message in messages]
    assert counted.reads <= 2 * 4


@pytest.mark.parametrize("seed", range(4))
async def test_two_workers_with_gaps_and_redeliveries_find_what_the_log_says(
    nats_client: Client, seed: int
) -> None:
    """Deliveries are dealt to two copies at random, some twice and late, some handled side by side."""
    drawn = random.Random(seed)
    events: list[Event | bytes] = []
    for n in range(120):
        session = f"s{drawn.randrange(3)}"
        other = ToolEvent(event_id=f"t{n}", tenant_id="acme", session_id=session, tool="bash", command="ls")
        end = SessionEvent(event_id=f"x{n}", tenant_id="acme", session_id=session, phase="ended")
        events.append(drawn.choices([said(n, session), other, end, b"{}"], weights=[8, 1, 1, 1])[0])
    messages = await deliver(nats_client, events)
    expected = {
        m.metadata.sequence.stream: await turns_before(FairExecutor(most_bytes=0), m, nats_client)
        for m in messages
    }
    copies = [FairExecutor(most_bytes=drawn.choice([9_000, PLENTY])) for _ in range(2)]
    dealt = [message for message in messages if drawn.random() < 0.9]
    dealt += drawn.sample(messages, 40)
    while dealt:
        together, dealt = dealt[:8], dealt[8:]
        chosen = [drawn.choice(copies) if drawn.random() < 0.4 else copies[0] for _ in together]
        found = await asyncio.gather(
            *(turns_before(copy, m, nats_client) for copy, m in zip(chosen, together, strict=True))
        )
        assert found == [expected[m.metadata.sequence.stream] for m in together]


async def test_nothing_is_kept_beyond_its_age_or_past_an_erasure(
    nats_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log may have lost turns by then, so it is asked again."""
    events: list[Event | bytes] = [said(n, "s") for n in range(6)]
    events += [EraseEvent(event_id="x", tenant_id="acme", of_user="ada"), said(7, "s"), said(8, "s")]
    messages = await deliver(nats_client, events)
    counted = Counted(monkeypatch)
    now = 0.0
    turns = FairExecutor(most_bytes=PLENTY, clock=lambda: now)
    for message in messages[:5]:
        await turns_before(turns, message, nats_client)
    counted.reads = 0
    now = KEPT_SECONDS + 1
    await turns_before(turns, messages[5], nats_client)
    assert counted.reads == 3
    await turns_before(turns, messages[6], nats_client)
    counted.reads = 0
    await turns_before(turns, messages[7], nats_client)
    assert counted.reads == 3
    await turns_before(turns, messages[8], nats_client)
    assert counted.reads == 3
