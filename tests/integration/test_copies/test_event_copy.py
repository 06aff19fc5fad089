"""The log of a backup in a real stream: sequences, times, and an id that the log holds twice."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from nats.aio.client import Client

from helix_cli.backup.contents import EventsCopy
from helix_cli.backup.event_copy import _Pieces, copy_events, entries_of, publish_events
from helix_cli.backup.objects import Objects
from helix_memory import subjects
from helix_shared.broker.log_reader import read_range
from helix_shared.broker.streams import provision
from helix_shared.event_log.record import EventRecord
from helix_shared.keys.key_store import KeyStore
from helix_shared.keys.owner import owner_code

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
