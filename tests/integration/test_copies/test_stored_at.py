"""The time of an imported event counts with the seal of the instance, and only with it."""

from datetime import UTC, datetime, timedelta

import pytest
from nats.aio.client import Client

from helix_memory import subjects
from helix_memory.transport.publisher import Publisher
from helix_shared.broker import log
from helix_shared.broker.pull import fetch
from helix_shared.broker.pull_reader import PullReader
from helix_shared.broker.stored_at import sealed, sealing_key, stored_at
from helix_shared.broker.streams import INGEST

pytestmark = pytest.mark.integration

SUBJECT = "helix.v1.events.acme.-.memory"
LONG_AGO = datetime(2024, 2, 29, 12, 0, 0, 123_456, tzinfo=UTC)


async def _times(client: Client, headers: dict[str, str], name: str) -> list[datetime]:
    """When a message with these headers was stored, to a worker and to a reader of the log."""
    publisher = Publisher(client.jetstream())
    ack = await publisher.publish(SUBJECT, b"{}", message_id=name, headers=headers)
    read = await log.message_at(client, subjects.EVENTS_STREAM, ack.sequence)
    reader = await PullReader.open(client, stream=subjects.EVENTS_STREAM, consumer=INGEST)
    [delivered] = await fetch(client, reader, 1, 0.05)
    await delivered.ack_sync()
    await reader.unsubscribe()
    assert read is not None
    return [stored_at(delivered), read.stored_at]


async def test_sealed_time_is_believed(nats_client: Client) -> None:
    """An import gives an event the time of its first storage, to the microsecond."""
    headers = sealed(await sealing_key(nats_client), SUBJECT, b"{}", "acme:1", LONG_AGO)
    assert await _times(nats_client, headers, "acme:1") == [LONG_AGO, LONG_AGO]


async def test_time_without_the_seal_of_this_instance_is_not_believed(nats_client: Client) -> None:
    """A publisher cannot claim a time: no seal, another key, another event or another time count nothing."""
    key = await sealing_key(nats_client)
    good = sealed(key, SUBJECT, b"{}", "acme:1", LONG_AGO)
    other_time = (LONG_AGO + timedelta(seconds=1)).isoformat(timespec="microseconds")
    claims = (
        {subjects.STORED_AT_HEADER: good[subjects.STORED_AT_HEADER]},
        sealed(b"another key" * 3, SUBJECT, b"{}", "acme:3", LONG_AGO),
        good,
        {**sealed(key, SUBJECT, b"{}", "acme:5", LONG_AGO), subjects.STORED_AT_HEADER: other_time},
        sealed(key, SUBJECT, b'{"text":"other"}', "acme:6", LONG_AGO),
    )
    for number, headers in enumerate(claims, 2):
        for when in await _times(nats_client, headers, f"acme:{number}"):
            assert datetime.now(UTC) - when < timedelta(hours=1)
