"""Headers that a publisher chooses freely end no reader, and no event gets lost by them."""

import asyncio
import itertools
from collections.abc import Mapping

import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg

from helix_memory import subjects
from helix_memory.events import encode_event
from helix_shared.broker import log, streams, traced
from helix_shared.broker.pull import pull
from helix_shared.broker.server import NatsServer
from helix_shared.broker.stored_at import sealing_key
from tests.integration.test_broker import turn

pytestmark = pytest.mark.integration

ODD: list[Mapping[str, str]] = [
    {"Status": "408"},
    {"Status": "404"},
    {"Status": "204"},
    {"Status": "503"},
    {"Status": "100", "Description": "Idle Heartbeat"},
    {"Status": "none"},
    {"Helix-Stored-At": "0001-01-01T00:00:00+05:00"},
    {"Helix-Stored-At": "\u0662\u0660"},
    {"traceparent": "\u00e9"},
    {"Nats-Msg-Id": "\u00e9 odd"},
    {"Helix-Event-Sequence": "\u0663"},
]


RAW = (
    b'CONNECT {"verbose":false,"headers":true}\r\n'
    b"PUB helix.v1.events.acme.s.\xff\xfe 2\r\n{}\r\n"
    b"HPUB helix.v1.events.acme.s.message 20 22\r\nNATS/1.0\r\na: \xff\xfe\xfd\r\n\r\n{}\r\n"
    b"HPUB helix.v1.events.acme.s.message 21 23\r\nNATS/1.0 \xff\xff\xff\r\na:b\r\n\r\n{}\r\nPING\r\n"
)
"""What no client library sends: a subject and a first line of headers that are not UTF-8."""


async def test_every_message_is_delivered_whatever_its_headers(
    nats_client: Client, nats_server: NatsServer
) -> None:
    """A stored message with a `Status` is no status of the server; a time outside the calendar is no time."""
    await sealing_key(nats_client)
    for n, headers in enumerate(ODD):
        event = turn(n)
        await nats_client.jetstream().publish(
            "helix.v1.events.acme.s.message", encode_event(event), headers=dict(headers)
        )
    reader, writer = await asyncio.open_connection(*nats_server.url.removeprefix("nats://").split(":"))
    writer.write(RAW)
    while await reader.readline() != b"PONG\r\n":
        pass
    writer.close()
    published = len(ODD) + 3
    stop, seen = asyncio.Event(), list[int]()

    async def process(message: Msg) -> None:
        with traced.carrying(message):
            seen.append(message.metadata.sequence.stream)
        await message.ack()
        if len(set(seen)) == published:
            stop.set()

    async with asyncio.timeout(60):
        await pull(
            nats_client,
            process,
            stop,
            stream=subjects.EVENTS_STREAM,
            durable=streams.INGEST,
            most_in_work=64,
            collect_seconds=0.01,
            ack_wait_seconds=60.0,
        )
    for is_replicated, sequence in itertools.product((False, True), range(1, published + 1)):
        log._replicated.setdefault(nats_client, {})[subjects.EVENTS_STREAM] = is_replicated
        found = await log.message_at(nats_client, subjects.EVENTS_STREAM, sequence)
        assert found is not None
        assert found.body == (encode_event(turn(sequence - 1)) if sequence <= len(ODD) else b"{}")
