"""The log of a backup in a real stream: sequences, times, and an id that the log holds twice."""

import asyncio
import io
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from nats.aio.client import Client
from nats.js.errors import APIError

from helix_cli.backup.backup import back_up
from helix_cli.backup.contents import EventsCopy
from helix_cli.backup.event_copy import _Pieces, copy_events, entries_of, publish_events
from helix_cli.backup.log_writing import FILLER
from helix_cli.backup.objects import Objects
from helix_cli.backup.stream_copy import restore, snapshot
from helix_cli.exchange.export import export
from helix_memory import limits, subjects
from helix_shared.broker import log
from helix_shared.broker.log_reader import BATCH, read_range
from helix_shared.broker.provisioning.provision import provision
from helix_shared.broker.pull import fetch
from helix_shared.broker.pull_reader import PullReader
from helix_shared.broker.shard_bucket import replace_map
from helix_shared.broker.streams import INGEST
from helix_shared.errors import PermanentError
from helix_shared.event_log.record import EventRecord
from helix_shared.keys.key_store import KeyStore
from helix_shared.keys.owner import owner_code
from helix_shared.shard_map import ShardMap

pytestmark = pytest.mark.integration

LONG_AGO = datetime(2024, 2, 29, 12, 0, 0, 5, tzinfo=UTC)


async def log_of(client: Client) -> list[EventRecord]:
    """All events."""
    last = (await client.jetstream().stream_info(subjects.EVENTS_STREAM)).state.last_seq
    batches = read_range(client, subjects.EVENTS_STREAM, ["helix.v1.events.>"], until=last)
    return [record async for batch in batches for record in batch]


def with_equal_ids(copy: EventsCopy, objects: Objects, keys: KeyStore) -> EventsCopy:
    """The same log, in which events 2 and 4 were stored long ago, with one id: more than its window apart."""
    entries = [one for one in entries_of(copy, objects, keys) if isinstance(one, EventRecord)]
    old = {one.sequence: replace(one, message_id="acme:x", stored_at=LONG_AGO) for one in entries[:2]}
    pieces = _Pieces(objects, keys)
    pieces.add_all([old.get(one.sequence, one) for one in entries])
    pieces.end(copy.last)
    return copy.model_copy(update={"pieces": tuple(pieces.done)})


async def test_a_log_with_holes_and_a_repeated_id_keeps_its_sequences(
    nats_client: Client, tmp_path: Path
) -> None:
    """Holes at the beginning, in the middle and at the end; the second of two events with one id stays."""
    jetstream, subject = nats_client.jetstream(), subjects.event_subject("acme", "s", "memory")
    names = ["gone", "x", "gone", "x", "gone", "y", "z", "gone"]
    for number, name in enumerate(names, 1):
        body = b'{"user_id": "%s", "text": "%d"}' % (b"ana" if name == "y" else b"bo", number)
        await jetstream.publish(subject, body, headers={subjects.MSG_ID_HEADER: f"acme:{name}{number}"})
    for number, name in enumerate(names, 1):
        if name == "gone":
            await jetstream.delete_msg(subjects.EVENTS_STREAM, number)
    wanted, objects = await log_of(nats_client), Objects(tmp_path / "backup")
    with KeyStore.held(tmp_path / "keys") as keys:
        copy = await copy_events(nats_client, objects, keys, None)
        repeated = with_equal_ids(copy, objects, keys)
        keys.destroy({owner_code("acme", "ana"): [(0, 100)]})
        await jetstream.delete_stream(subjects.EVENTS_STREAM)
        await provision(jetstream)
        published = await publish_events(nats_client, repeated, objects, keys)
    assert (published.events, published.left_out) == (3, 1)
    found = await log_of(nats_client)
    assert [one.sequence for one in found] == [2, 4, 7]
    assert [one.message_id for one in found] == ["acme:x", "acme:x", "acme:z7"]
    assert [one.stored_at for one in found] == [LONG_AGO, LONG_AGO, wanted[3].stored_at]
    info = await jetstream.stream_info(subjects.EVENTS_STREAM)
    assert info.state.last_seq == 8
    assert info.config.duplicate_window == 3600
    assert (await jetstream.publish(subject, b"{}")).seq == 9


async def test_streams_of_a_cluster_are_restored_on_one_server(nats_client: Client, tmp_path: Path) -> None:
    """Its server refuses three copies, so such a backup could not be restored at all."""
    jetstream, objects = nats_client.jetstream(), Objects(tmp_path / "backup")
    await jetstream.publish(subjects.event_subject("acme", "s", "memory"), b"{}")
    await jetstream.publish("helix.v1.dlq.ingest.acme", b"{}")
    of_cluster = {"num_replicas": 3, "placement": {"cluster": "", "tags": ["ssd"]}}
    with KeyStore.held(tmp_path / "keys") as keys:
        events = await copy_events(nats_client, objects, keys, None)
        letters = await snapshot(nats_client, subjects.DLQ_STREAM, objects)
        for name in (subjects.EVENTS_STREAM, subjects.DLQ_STREAM):
            await jetstream.delete_stream(name)
        letters = letters.model_copy(update={"config": letters.config | of_cluster})
        await restore(nats_client, subjects.DLQ_STREAM, letters, objects)
        await provision(jetstream)
        events = events.model_copy(update={"config": events.config | of_cluster})
        await publish_events(nats_client, events, objects, keys)
    for name in (subjects.EVENTS_STREAM, subjects.DLQ_STREAM):
        info = await jetstream.stream_info(name)
        assert (info.state.messages, info.config.num_replicas, info.config.placement) == (1, 1, None)


async def test_an_event_with_a_header_that_no_client_publishes_is_restored(
    nats_client: Client, tmp_path: Path
) -> None:
    """The server takes more names than the client: one such event ended every restore."""
    subject, names = subjects.event_subject("acme", "s", "memory"), ("a=", "=b", "c/d", "e[0]", "f@g", "h-i")
    for name in names:
        head = f"NATS/1.0\r\n{name}: 1\r\n\r\n".encode()
        sizes = f"{len(head)} {len(head) + 2}"
        await nats_client._send_command(f"HPUB {subject} {sizes}\r\n".encode() + head + b"{}\r\n")
    await nats_client.jetstream().publish(subject, b"{}")
    wanted, objects = await log_of(nats_client), Objects(tmp_path / "backup")
    assert [dict(one.headers) for one in wanted] == [*({},) * (len(names) - 1), {"h-i": "1"}, {}]
    with KeyStore.held(tmp_path / "keys") as keys:
        copy = await copy_events(nats_client, objects, keys, None)
        await nats_client.jetstream().delete_stream(subjects.EVENTS_STREAM)
        await provision(nats_client.jetstream())
        assert (await publish_events(nats_client, copy, objects, keys)).events == len(names) + 1


async def test_a_message_on_the_subject_of_fillers_is_one_of_them(
    nats_client: Client, tmp_path: Path
) -> None:
    """Somebody published it: it went with the fillers of a restore, which then missed an event, each time."""
    jetstream, objects = nats_client.jetstream(), Objects(tmp_path / "backup")
    for subject in (FILLER, subjects.event_subject("acme", "s", "memory")):
        await jetstream.publish(subject, b"{}")
    with KeyStore.held(tmp_path / "keys") as keys:
        copy = await copy_events(nats_client, objects, keys, None)
        await jetstream.delete_stream(subjects.EVENTS_STREAM)
        await provision(jetstream)
        assert (await publish_events(nats_client, copy, objects, keys)).events == 1
    assert [one.sequence for one in await log_of(nats_client)] == [2]


async def test_an_event_as_large_as_the_log_takes_is_restored(nats_client: Client, tmp_path: Path) -> None:
    """It has no room for the headers of its time: whoever published one made every backup useless."""
    jetstream, subject = nats_client.jetstream(), subjects.event_subject("acme", "s", "memory")
    await jetstream.publish(subject, b"x" * limits.EVENT_BYTES)
    await jetstream.publish(subject, b"{}")
    wanted, objects = await log_of(nats_client), Objects(tmp_path / "backup")
    before = (await jetstream.stream_info(subjects.EVENTS_STREAM)).config
    with KeyStore.held(tmp_path / "keys") as keys:
        copy = await copy_events(nats_client, objects, keys, None)
        await jetstream.delete_stream(subjects.EVENTS_STREAM)
        await provision(jetstream)
        await publish_events(nats_client, copy, objects, keys)
    assert [replace(one, message_id="") for one in await log_of(nats_client)] == wanted
    assert (await jetstream.stream_info(subjects.EVENTS_STREAM)).config.max_msg_size == before.max_msg_size
    with pytest.raises(APIError, match="exceeds maximum"):
        await jetstream.publish(subject, b"x" * (limits.EVENT_BYTES + 1))


async def test_nothing_of_one_data_folder_is_made_where_others_are_elsewhere(
    nats_client: Client, tmp_path: Path
) -> None:
    """A backup would lack the memories of the other shards; an export asks the shard of the erase event."""
    many = ShardMap().grown(2, tenants=(), log_end=0)
    await replace_map(nats_client.jetstream(), ShardMap(), many, replicas=1)
    one = {"folders": [tmp_path], "models": tmp_path}
    with pytest.raises(PermanentError, match="has 2 shards, and this home the data folders of 1"):
        await back_up(nats_client, tmp_path / "backup", **one, settings={}, with_models=False)
    await nats_client.jetstream().publish(subjects.event_subject("acme", "s", "erase"), b"{}")
    places = [tmp_path / "0", tmp_path / "1"]
    with pytest.raises(PermanentError, match=f"{places[many.shard_of('acme')]} has no generation"):
        await export(nats_client, io.BytesIO(), tenants=[], data_of=places.__getitem__)


HOSTILE_HEADERS = (
    b"Status: 503",
    b"Status: 404",
    b"Status: 204",
    b"Status: 100",
    b"X\xc3\xbc: 1",
    b": 1",
    b"X: \xff",
)


async def test_an_event_is_read_whatever_headers_its_publisher_gave_it(nats_client: Client) -> None:
    """Headers that look like answers of the server make no reader skip an event, or fail for ever."""
    subject = subjects.event_subject("acme", "s", "message")
    for header in HOSTILE_HEADERS:
        head = b"NATS/1.0\r\n" + header + b"\r\n\r\n"
        sizes = f"{len(head)} {len(head) + 2}"
        # no client sends such a header
        await nats_client._send_command(f"HPUB {subject} {sizes}\r\n".encode() + head + b"{}\r\n")
    number = (await nats_client.jetstream().publish(subject, b"{}")).seq
    events = await log_of(nats_client)
    assert [one.sequence for one in events] == list(range(1, len(HOSTILE_HEADERS) + 2))
    assert all(name.isascii() and name for one in events for name in one.headers)
    reader = await PullReader.open(nats_client, stream=subjects.EVENTS_STREAM, consumer=INGEST)
    assert len(await fetch(nats_client, reader, 2 * number, 0.05)) == number
    for sequence in range(1, number + 1):
        read = await log.message_at(nats_client, subjects.EVENTS_STREAM, sequence)
        assert read is not None
        assert read == await log.last_before(nats_client, subjects.EVENTS_STREAM, subject, sequence + 1)
    together = await log.some_after(nats_client, subjects.EVENTS_STREAM, subject, 0, most=number)
    assert len(together) == number


async def test_a_reader_that_paused_longer_than_its_consumer_lives_reads_on(nats_client: Client) -> None:
    """The server removes a consumer that nobody asks, as while `helix export | less` stands still."""
    jetstream, subject = nats_client.jetstream(), subjects.event_subject("acme", "s", "memory")
    await asyncio.gather(*(jetstream.publish(subject, b"{}") for _ in range(BATCH + 3)))
    filters, read = ["helix.v1.events.acme.>"], list[int]()
    async for batch in read_range(nats_client, subjects.EVENTS_STREAM, filters, until=BATCH + 2):
        read += [record.sequence for record in batch]
        for consumer in await jetstream.consumers_info(subjects.EVENTS_STREAM):
            if not consumer.config.durable_name:
                await jetstream.delete_consumer(subjects.EVENTS_STREAM, consumer.name)
    assert read == list(range(1, BATCH + 3))
