"""Bulk publishing against a real server: its result must be that of single publishing."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest
from nats.aio.client import Client

from helix_cli.clients.bulk import send_in_bulk
from helix_cli.clients.sending import Tally, send_in_order
from helix_memory import subjects
from helix_memory.events import Event, ForgetEvent, MessageEvent, encode_event
from helix_memory.transport.batch import Outgoing, publish_batch, split
from helix_memory.transport.connection import connect
from helix_memory.transport.publisher import PubAck, Publisher, event_message
from helix_shared.broker.provisioning.provision import provision
from helix_shared.broker.server import NatsServer
from helix_shared.sources.source_event import Refusal, SourceEvent

pytestmark = pytest.mark.integration


def said(number: int, *, tenant: str = "acme", session: str = "s") -> MessageEvent:
    """A message."""
    return MessageEvent(
        event_id=f"e{number}", tenant_id=tenant, session_id=session, role="user", text=f"turn {number}"
    )


class Sender:
    """Publishes in bulk and records the batches that the stream took."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.batches: list[int] = []
        self.took_one = asyncio.Event()
        self.publisher = Publisher(client.jetstream(), timeout_seconds=2)

    async def together(self, messages: Sequence[Outgoing]) -> list[PubAck] | None:
        """Call and record `Publisher.publish_together`."""
        acks = await self.publisher.publish_together(self.client, messages)
        if acks is not None:
            self.batches.append(len(acks))
            self.took_one.set()
        return acks

    async def send(self, events: Sequence[Event | Refusal]) -> Tally:
        """Send the events and return the tally."""
        tally = Tally()
        items = [e if isinstance(e, Refusal) else SourceEvent(f"f:{n}", e) for n, e in enumerate(events, 1)]
        await send_in_bulk(items, self.publisher.publish_event, self.together, tally=tally)
        return tally


async def stored(client: Client) -> list[tuple[str, str, bytes]]:
    """Subject, id and body of every message in the stream, in order."""
    jetstream = client.jetstream()
    last = (await jetstream.stream_info(subjects.EVENTS_STREAM)).state.last_seq
    found = [await jetstream.get_msg(subjects.EVENTS_STREAM, number) for number in range(1, last + 1)]
    return [(str(m.subject), (m.headers or {})[subjects.MSG_ID_HEADER], m.data or b"") for m in found]


async def test_a_batch_stores_what_single_publishing_stores(nats_client: Client, tmp_path: Path) -> None:
    """Both methods of publishing give two tenants the same subjects, ids, bodies and order."""
    events = [said(n, tenant=f"t{n % 2}", session=f"s{n % 3}") for n in range(40)]
    sender = Sender(nats_client)
    tally = await sender.send(events)
    assert (tally.published, tally.duplicates, tally.last_sequence) == (40, 0, 40)
    assert sum(sender.batches) >= 39, "all but a first one that came alone"
    expected = [(m.subject, m.message_id, m.body) for m in map(event_message, events)]
    assert expected == await stored(nats_client)
    with NatsServer(tmp_path / "other") as other:
        client = await connect(other.url, name="test")
        await provision(client.jetstream())
        one_by_one = [SourceEvent("f", event) for event in events]
        publish = Publisher(client.jetstream()).publish_event
        await send_in_order(one_by_one, publish, tally=Tally(), in_flight=1)
        assert sorted(expected) == sorted(await stored(client))
        await client.close()


async def test_importing_a_file_again_publishes_only_its_missing_events(
    nats_client: Client,
) -> None:
    """The stream refuses a batch with one stored id; its events are then published one by one, in order."""
    sender = Sender(nats_client)
    known = await sender.send([said(n) for n in range(10, 20)])
    assert known.published == 10
    tally = await sender.send([said(n) for n in range(60)])
    assert (tally.published, tally.duplicates) == (50, 10)
    again = await sender.send([said(n) for n in range(60)])
    assert (again.published, again.duplicates, again.last_sequence) == (0, 60, 60)
    ids = [message_id for _, message_id, _ in await stored(nats_client)]
    rest = [n for n in range(60) if n not in range(10, 20)]
    assert [f"acme:e{n}" for n in (*range(10, 20), *rest)] == ids


async def test_a_file_that_repeats_an_event_stores_it_once(nats_client: Client) -> None:
    """Not every version of the server compares the ids within a batch, so the client does."""
    tally = await Sender(nats_client).send([said(n % 7) for n in range(30)])
    assert (tally.published, tally.duplicates) == (7, 23)
    assert len(await stored(nats_client)) == 7


async def test_a_forget_keeps_its_position_and_refusals_are_counted(nats_client: Client) -> None:
    """A forget has the same position as in the file; a bad line does not stop the others."""
    events: list[Event | Refusal] = [said(n, session=f"s{n}") for n in range(20)]
    events[11] = ForgetEvent(event_id="f", tenant_id="acme", of_user="ada")
    events.insert(5, Refusal("f:5", "text", "empty"))
    tally = await Sender(nats_client).send(events)
    assert (tally.published, [r.where for r in tally.refusals]) == (20, ["f:5"])
    assert [m for _, m, _ in await stored(nats_client)][11] == "acme:f"


async def test_a_server_killed_during_an_import_loses_and_doubles_nothing(
    nats_server: NatsServer, nats_client: Client
) -> None:
    """Acknowledged events are there after the restart, the rest follows, and sessions keep their order."""
    sender = Sender(nats_client)
    events = [said(n, session=f"s{n % 4}") for n in range(4_000)]
    sending = asyncio.create_task(sender.send(events))
    await asyncio.wait_for(sender.took_one.wait(), 30)
    assert not sending.done(), "killed in the middle"
    nats_server.kill()
    await asyncio.sleep(0.3)
    await asyncio.to_thread(nats_server.start)
    tally = await asyncio.wait_for(sending, 120)
    assert tally.published + tally.duplicates == 4_000
    numbers = [int(message_id.removeprefix("acme:e")) for _, message_id, _ in await stored(nats_client)]
    assert sorted(numbers) == list(range(4_000))
    for session in range(4):
        own = [n for n in numbers if n % 4 == session]
        assert own == sorted(own)


async def test_a_stream_that_takes_no_batches_gets_its_events_one_by_one(nats_client: Client) -> None:
    """A stream that was provisioned by an older version still works."""
    config = (await nats_client.jetstream().stream_info(subjects.EVENTS_STREAM)).config
    messages = [event_message(said(n)) for n in range(3)]
    await nats_client.jetstream().delete_stream(subjects.EVENTS_STREAM)
    config.allow_atomic = False
    await nats_client.jetstream().add_stream(config)
    assert await publish_batch(nats_client, messages, timeout_seconds=2) is None
    sender = Sender(nats_client)
    tally = await sender.send([said(n) for n in range(10)])
    assert (tally.published, sender.batches) == (10, [])


def test_batches_are_bounded_by_messages_and_by_bytes() -> None:
    """500 messages, or 4 MiB of bodies; a larger body is a batch of its own."""
    small = Outgoing("s", b"x", "1")
    large = Outgoing("s", b"x" * (3 * 1024 * 1024), "2")
    assert [len(batch) for batch in split([small] * 1_001)] == [500, 500, 1]
    assert [len(batch) for batch in split([large, large, small, large])] == [1, 2, 1]
    assert encode_event(said(1)) == event_message(said(1)).body


async def test_messages_without_an_id_are_no_repetitions(nats_client: Client) -> None:
    """A restore publishes those of other clients so; one by one they took fifteen times as long."""
    subject = subjects.event_subject("acme", "s", "message")
    messages = [Outgoing(subject, b"%d" % number, "") for number in range(3)]
    assert await publish_batch(nats_client, messages, timeout_seconds=2) == [1, 2, 3]
    assert await stored(nats_client) == [(subject, "", b"%d" % number) for number in range(3)]
