"""Streams, publishing and settling against a real nats-server."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js import api

from helix_memory import limits, subjects
from helix_memory.client.event_writer import EventWriter
from helix_memory.events import MessageEvent, encode_event
from helix_memory.transport import dead_letters
from helix_memory.transport.connection import connect
from helix_memory.transport.polling import async_poll
from helix_memory.transport.publisher import Publisher
from helix_shared import object_bucket
from helix_shared.broker import log, settlement, streams
from helix_shared.broker.provisioning.provision import provision, stream_settings
from helix_shared.broker.pull_reader import PullReader
from helix_shared.broker.server import NatsServer
from helix_shared.errors import (
    IncompatibleError,
    InvalidInputError,
    OverdueError,
    PermanentError,
    TemporaryError,
)

pytestmark = pytest.mark.integration

PATIENCE_SECONDS = 60.0


def turn(n: int, *, tenant: str = "acme", session: str = "s", text: str = "hello") -> MessageEvent:
    """A turn with an id."""
    return MessageEvent(event_id=f"e{n}", tenant_id=tenant, session_id=session, role="user", text=text)


async def deliveries(client: Client, durable: str = streams.INGEST) -> api.ConsumerInfo:
    """State of a durable consumer."""
    return await client.jetstream().consumer_info(subjects.EVENTS_STREAM, durable)


async def until_settled(client: Client) -> None:
    """Wait until no event is left for ingest; an ack or a term is not confirmed."""
    async for _ in async_poll(PATIENCE_SECONDS):
        state = await deliveries(client)
        if not state.num_ack_pending and not state.num_pending:
            return
    pytest.fail("events stay unsettled")


async def fetch_one(client: Client) -> Msg:
    """The next event for ingest."""
    subscription = await client.jetstream().pull_subscribe_bind(streams.INGEST, subjects.EVENTS_STREAM)
    return (await subscription.fetch(1, timeout=10))[0]


async def test_provisioning_twice_changes_nothing(nats_client: Client) -> None:
    """Streams keep their messages and consumers their position."""
    await Publisher(nats_client.jetstream()).publish_event(turn(1))
    before = await nats_client.jetstream().stream_info(subjects.EVENTS_STREAM)
    await provision(nats_client.jetstream())
    after = await nats_client.jetstream().stream_info(subjects.EVENTS_STREAM)
    assert (before.config, before.state.messages) == (after.config, after.state.messages)


async def test_the_bucket_of_generations_is_made_where_it_is_asked_for(nats_client: Client) -> None:
    """A later call without the option changes its copies as those of every stream, and keeps what it has."""
    jetstream = nats_client.jetstream()
    assert await stream_settings(jetstream, object_bucket.STREAM) is None
    await provision(jetstream, objects=True)
    await (await jetstream.object_store(object_bucket.BUCKET)).put("one", b"object")
    done = await provision(jetstream)
    assert f"stream {object_bucket.STREAM} up to date" in done
    found = await (await jetstream.object_store(object_bucket.BUCKET)).get("one")
    assert found.data == b"object"


async def test_streams_refuse_rather_than_drop(nats_client: Client) -> None:
    """The events stream never drops its oldest messages."""
    for name in (subjects.EVENTS_STREAM, subjects.DERIVED_STREAM, subjects.DLQ_STREAM):
        config = (await nats_client.jetstream().stream_info(name)).config
        assert config.discard == api.DiscardPolicy.NEW
        assert config.storage == api.StorageType.FILE
        assert config.max_age in {None, 0.0}


async def test_repeated_event_is_stored_once(nats_client: Client) -> None:
    """A repeated message is stored once."""
    publisher = Publisher(nats_client.jetstream())
    first, second = await publisher.publish_event(turn(1)), await publisher.publish_event(turn(1))
    assert (first.duplicate, second.duplicate) == (False, True)
    assert first.sequence == second.sequence


async def test_two_tenants_may_use_the_same_event_id(nats_client: Client) -> None:
    """De-duplication covers the whole stream, so the id contains the tenant."""
    publisher = Publisher(nats_client.jetstream())
    acks = [await publisher.publish_event(turn(1, tenant=tenant)) for tenant in ("a", "b")]
    assert [ack.duplicate for ack in acks] == [False, False]


async def test_oversize_event_is_refused_before_it_is_sent(nats_client: Client) -> None:
    """The error names the limit; the connection stays open."""
    publisher = Publisher(nats_client.jetstream())
    large = turn(1, text="\u00e9\u00e9 " * 33_000)
    assert len(large.text.encode()) < limits.EVENT_BYTES
    await publisher.publish_event(large)
    too_large = MessageEvent(
        event_id="x", tenant_id="acme", session_id="s", role="user", text="\u6f22\u5b57\u6f22" * 33_000
    )
    with pytest.raises(InvalidInputError, match="at most"):
        await publisher.publish_event(too_large)
    await publisher.publish_event(turn(2))


async def test_plain_client_cannot_store_an_oversize_event(nats_client: Client) -> None:
    """Without the helper, the limit of the stream applies."""
    with pytest.raises(InvalidInputError):
        await Publisher(nats_client.jetstream()).publish(
            "helix.v1.events.acme.s.message", b"x" * (limits.EVENT_BYTES + 1), message_id="acme:x"
        )
    assert (await nats_client.jetstream().stream_info(subjects.EVENTS_STREAM)).state.messages == 0


async def test_publishing_without_a_stream_says_so(nats_server: NatsServer) -> None:
    """Without a server: a temporary error after the last attempt."""
    client = await connect(nats_server.url, name="test")
    try:
        with pytest.raises(TemporaryError, match="no acknowledgement"):
            await Publisher(client.jetstream(), timeout_seconds=0.1).publish_event(turn(1))
    finally:
        await client.close()


async def test_an_address_without_a_server_is_a_clear_error() -> None:
    """The message says what to start."""
    with pytest.raises(TemporaryError, match="helix up"):
        await connect("nats://127.0.0.1:1", name="test")


async def test_heartbeats_keep_the_ack_wait_of_the_consumer(nats_client: Client) -> None:
    """A worker whose setting is longer than the wait that was provisioned must not lose its messages."""
    await provision(nats_client.jetstream(), ack_wait_seconds=30)
    reader = await PullReader.open(nats_client, stream=subjects.EVENTS_STREAM, consumer=streams.INGEST)
    assert await reader.heartbeat_seconds(3_600) == 10
    assert await reader.heartbeat_seconds(6) == 2


async def test_some_after_reads_many_messages_in_one_request(
    nats_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the order of the log, past a removed one, at most as many as asked for; fewer if they are large."""
    jetstream, subject = nats_client.jetstream(), f"{subjects.ROOT}.events.>"
    for number in range(1, 8):
        await jetstream.publish(subjects.event_subject("acme", "s1", "message"), b"%d" % number)
    await jetstream.delete_msg(subjects.EVENTS_STREAM, 4)

    async def read(after: int, most: int) -> list[tuple[int, bytes]]:
        found = await log.some_after(nats_client, subjects.EVENTS_STREAM, subject, after, most=most)
        return [(one.sequence, one.body) for one in found]

    assert await read(0, 3) == [(1, b"1"), (2, b"2"), (3, b"3")]
    assert await read(3, 9) == [(5, b"5"), (6, b"6"), (7, b"7")]
    assert await read(7, 9) == []
    one = await log.first_after(nats_client, subjects.EVENTS_STREAM, subject, 3)
    assert one == (await log.some_after(nats_client, subjects.EVENTS_STREAM, subject, 3, most=1))[0]
    monkeypatch.setattr(log, "BATCH_BYTES", 1)
    assert await read(0, 9) == [(1, b"1")]
    with pytest.raises(TemporaryError, match="HELIX_NOTHING"):
        await log.some_after(nats_client, "HELIX_NOTHING", subject, 0, most=9)


async def test_last_before_reads_the_sessions_own_past(nats_client: Client) -> None:
    """Other sessions and later messages are not seen."""
    publisher = Publisher(nats_client.jetstream())
    for n, session in enumerate(("s", "other", "s", "s"), 1):
        await publisher.publish_event(turn(n, session=session, text=f"turn {n}"))
    subject = subjects.session_messages("acme", "s")
    found = [await log.last_before(nats_client, subjects.EVENTS_STREAM, subject, n) for n in (1, 2, 3, 4, 5)]
    assert [m.sequence if m else None for m in found] == [None, 1, 1, 3, 4]
    assert found[-1] is not None
    assert abs(found[-1].stored_at - datetime.now(UTC)) < timedelta(minutes=1)


async def answer(message: Msg, handle: settlement.Handler, publisher: Publisher) -> None:
    """Settle one message with new failure counts."""
    failures = settlement.Failures()
    await settlement.settle(message, handle, service="ingest", publisher=publisher, failures=failures)


async def test_permanent_error_files_the_message_with_its_reason(nats_client: Client) -> None:
    """A dead letter holds body, reason and position; the message is not delivered again."""
    publisher = Publisher(nats_client.jetstream())
    await publisher.publish_event(turn(1))

    async def refuse(_: Msg) -> None:
        raise PermanentError("text:\ttoo \u201cbad\u201d\nfor words")

    await settlement.settle(
        await fetch_one(nats_client),
        refuse,
        service="ingest",
        publisher=publisher,
        failures=settlement.Failures(),
    )
    letter = await nats_client.jetstream().get_last_msg(subjects.DLQ_STREAM, "helix.v1.dlq.ingest.acme")
    assert letter.headers is not None
    assert letter.headers[subjects.REASON_HEADER] == "text: too \\u201cbad\\u201d for words"
    assert letter.headers[subjects.SEQUENCE_HEADER] == "1"
    assert letter.data == encode_event(turn(1))
    await until_settled(nats_client)


async def letter_of(client: Client, tenant: str, event: int) -> None:
    """Refuse an event."""
    headers = {
        subjects.REASON_HEADER: "text: is too long",
        subjects.SUBJECT_HEADER: f"helix.v1.events.{tenant}.s.message",
        subjects.EVENT_SEQUENCE_HEADER: str(event),
    }
    await client.jetstream().publish(subjects.dlq_subject("ingest", tenant), b"{}", headers=headers)


async def test_the_dead_letters_of_other_tenants_cost_a_wait_nothing(
    nats_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each letter that is read is a request: a tenant with many refused events would slow everybody down."""
    for tenant, event in [("noisy", number) for number in range(1, 51)] + [("acme", 51), ("acme", 52)]:
        await letter_of(nats_client, tenant, event)
    jetstream, requests = nats_client.jetstream(), 0
    get_msg = jetstream.get_msg

    async def counted(*args: Any, **options: Any) -> api.RawStreamMsg:
        nonlocal requests
        requests += 1
        return await get_msg(*args, **options)

    monkeypatch.setattr(jetstream, "get_msg", counted)
    found = await dead_letters.refusals_of(jetstream, {52}, after=0, tenant_id="acme")
    assert (found[52].broken_rule, requests) == (("text", "is too long"), 2)
    assert not await dead_letters.refusals_of(jetstream, {50}, after=0, tenant_id="acme")
    assert (await dead_letters.refusals_of(jetstream, {50}, after=0))[50].tenant_id == "noisy"


async def test_the_dead_letters_of_other_tenants_hide_no_refusal(
    nats_server: NatsServer, nats_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many came since: a wait would say that the event is processed."""
    monkeypatch.setattr(dead_letters, "EARLIER_LETTERS", 10)
    await letter_of(nats_client, "acme", 1)
    for event in range(2, 22):
        await letter_of(nats_client, "noisy", event)
    writer = EventWriter(nats_server.url)

    def refused(event: int, tenant: str) -> bool:
        return writer.refusal(event, tenant_id=tenant, after=None, seconds=30) is not None

    try:
        for event, tenant, expected in ((1, "acme", True), (21, "noisy", True), (2, "noisy", False)):
            assert await asyncio.to_thread(refused, event, tenant) == expected
    finally:
        writer.close()


async def test_temporary_error_brings_the_message_back_after_its_delay(nats_client: Client) -> None:
    """After a delay: immediate redelivery would use up all attempts in milliseconds."""
    publisher = Publisher(nats_client.jetstream())
    await publisher.publish_event(turn(1))

    async def busy(_: Msg) -> None:
        raise TemporaryError("busy", delay_seconds=0.5)

    started = asyncio.get_running_loop().time()
    await settlement.settle(
        await fetch_one(nats_client),
        busy,
        service="ingest",
        publisher=publisher,
        failures=settlement.Failures(),
    )
    again = await fetch_one(nats_client)
    assert again.metadata.num_delivered == 2
    assert asyncio.get_running_loop().time() - started >= 0.35


async def test_one_bad_message_affects_no_other(nats_client: Client) -> None:
    """Messages of a batch are settled one by one."""
    publisher = Publisher(nats_client.jetstream())
    for n in range(4):
        await publisher.publish_event(turn(n))
    subscription = await nats_client.jetstream().pull_subscribe_bind(streams.INGEST, subjects.EVENTS_STREAM)
    batch = await subscription.fetch(4, timeout=10)

    async def picky(message: Msg) -> None:
        if message.metadata.sequence.stream == 2:
            raise PermanentError("not this one")

    await asyncio.gather(*(answer(m, picky, publisher) for m in batch))
    await until_settled(nats_client)
    assert (await nats_client.jetstream().stream_info(subjects.DLQ_STREAM)).state.messages == 1


async def test_a_message_of_another_release_is_held_and_burns_no_attempt(
    nats_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A message that was held often and then fails once is postponed."""
    publisher, failures = Publisher(nats_client.jetstream()), settlement.Failures()
    await publisher.publish_event(turn(1))
    monkeypatch.setattr(settlement, "ATTEMPTS", 2)
    monkeypatch.setattr(settlement, "HOLD_SECONDS", 0.05)
    monkeypatch.setattr(settlement, "LONGEST_DELAY_SECONDS", 0.05)

    async def unreadable(_: Msg) -> None:
        raise IncompatibleError("edge version 2")

    async def busy(_: Msg) -> None:
        raise TemporaryError("busy", delay_seconds=0.05)

    async def fine(_: Msg) -> None:
        pass

    for handle in (unreadable, unreadable, unreadable, busy, fine):
        message = await fetch_one(nats_client)
        await settlement.settle(message, handle, service="ingest", publisher=publisher, failures=failures)
    assert message.metadata.num_delivered == 5
    assert (await nats_client.jetstream().stream_info(subjects.DLQ_STREAM)).state.messages == 0
    assert (await deliveries(nats_client)).num_ack_pending == 0


async def test_only_runs_past_the_deadline_count_towards_their_limit(
    nats_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Held three times and overdue twice, it is postponed; the third run past its deadline is the last."""
    publisher, failures = Publisher(nats_client.jetstream()), settlement.Failures()
    await publisher.publish_event(turn(1))
    monkeypatch.setattr(settlement, "HOLD_SECONDS", 0.05)
    monkeypatch.setattr(settlement, "LONGEST_DELAY_SECONDS", 0.05)

    async def unreadable(_: Msg) -> None:
        raise IncompatibleError("edge version 2")

    async def slow(_: Msg) -> None:
        raise OverdueError("too long", delay_seconds=0.05)

    dead = []
    for handle in (unreadable, unreadable, unreadable, slow, slow, slow):
        message = await fetch_one(nats_client)
        await settlement.settle(message, handle, service="ingest", publisher=publisher, failures=failures)
        dead.append((await nats_client.jetstream().stream_info(subjects.DLQ_STREAM)).state.messages)
    assert dead == [0, 0, 0, 0, 0, 1]


async def test_a_message_is_not_the_last_of_a_process_for_deliveries_that_were_held(
    nats_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Too many threads are stuck: held twice and busy once, it is postponed until its third overdue run."""
    publisher, failures = Publisher(nats_client.jetstream()), settlement.Failures(is_ending=lambda: True)
    await publisher.publish_event(turn(1))
    monkeypatch.setattr(settlement, "HOLD_SECONDS", 0.05)
    monkeypatch.setattr(settlement, "LONGEST_DELAY_SECONDS", 0.05)
    errors = [IncompatibleError("edge version 2")] * 2 + [TemporaryError("busy", delay_seconds=0.05)]
    overdue = OverdueError("too long", delay_seconds=0.05)
    dead = []
    for error in (*errors, overdue, overdue, overdue):

        async def fail(_: Msg, error: Exception = error) -> None:
            raise error

        message = await fetch_one(nats_client)
        await settlement.settle(message, fail, service="ingest", publisher=publisher, failures=failures)
        dead.append((await nats_client.jetstream().stream_info(subjects.DLQ_STREAM)).state.messages)
    assert dead == [0, 0, 0, 0, 0, 1]


async def test_unexpected_error_is_tried_again_and_dead_lettered_at_last(
    nats_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a bug in a handler the message becomes a dead letter."""
    publisher = Publisher(nats_client.jetstream())
    await publisher.publish_event(turn(1))
    monkeypatch.setattr(settlement, "ATTEMPTS", 2)
    buried = []

    async def buggy(_: Msg) -> None:
        raise ZeroDivisionError

    async def on_dead_letter(message: Msg) -> None:
        buried.append(message.metadata.sequence.stream)

    failures = settlement.Failures()
    for _ in range(2):
        await settlement.settle(
            await fetch_one(nats_client),
            buggy,
            service="ingest",
            publisher=publisher,
            failures=failures,
            on_dead_letter=on_dead_letter,
        )
    assert buried == [1]
    assert (await nats_client.jetstream().stream_info(subjects.DLQ_STREAM)).state.messages == 1
