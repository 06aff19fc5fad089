"""`helix archive restore` in real streams: truncated by a damaged byte, created again, and reused."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from nats.js import JetStreamContext

from helix_cli.backup import whole_log
from helix_cli.backup.log_writing import FILLER
from helix_cli.backup.whole_log import MadeWhole, make_whole
from helix_cli.home.folder import HomeFolder
from helix_consolidation.archiving.event_archive import ARCHIVE, EventArchive
from helix_consolidation.delivery.leading.lease import Lease
from helix_consolidation.delivery.streams.followed_log import FollowedLog
from helix_consolidation.delivery.streams.stream_state import check_epoch, event_stream
from helix_consolidation.stores.shard import Shard
from helix_memory import subjects
from helix_memory.transport.connection import connect
from helix_shared.artifacts.generation.folders import current_number, folder_of
from helix_shared.artifacts.generation.manifest import Manifest
from helix_shared.broker import streams
from helix_shared.broker.provisioning.provision import provision
from helix_shared.broker.server import NatsServer
from helix_shared.broker.shard_bucket import read_map
from helix_shared.errors import CorruptArtifactError, NotFoundError, PermanentError, TemporaryError
from helix_shared.event_log.archive_card import logs_before
from helix_shared.shard_map import ShardMap, ShardPlace
from tests.integration.damaged_log import damage
from tests.unit.consolidation.conftest import Bench, Stream, row

from .test_event_copy import log_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nats.aio.client import Client

    from helix_shared.event_log.record import EventRecord

pytestmark = pytest.mark.integration

EVENTS = 12
DAMAGED = 6
"""The sequence from which on the server finds no event any more."""


async def publish(client: Client, names: Iterable[str]) -> None:
    """Publish an event of each name, of two tenants in turns."""
    for name in names:
        tenant = "acme" if len(name) % 2 else "beta"
        subject = subjects.event_subject(tenant, "s", "memory")
        headers = {subjects.MSG_ID_HEADER: f"{tenant}:{name}"}
        await client.jetstream().publish(subject, b'{"text": "%s"}' % name.encode(), headers=headers)


def text(number: int) -> str:
    """The name of an event."""
    return "x" * (1 + number % 2) + f"{number:03d}"


async def archived(client: Client, home: HomeFolder, *, shards: int = 1) -> None:
    """Write the archive of each shard, as its writer does."""
    log = await event_stream(client.jetstream())
    places = ShardMap(shards=shards, starts=(0,) * shards)
    for shard in range(shards):
        place = ShardPlace(shard=shard, map=places)
        home.data_of(shard).mkdir(parents=True, exist_ok=True)
        with EventArchive(client, home.data_of(shard), log, segment_bytes=2_000, place=place) as archive:
            await archive.catch_up(log.last_sequence)


async def lost(server: NatsServer, client: Client, how: str) -> Client:
    """Lose events; returns the connection to what is left."""
    if how == "created again":
        await client.jetstream().delete_stream(subjects.EVENTS_STREAM)
        await provision(client.jetstream())
        return client
    await client.close()
    server.stop()
    damage(server.folder, text(DAMAGED).encode())
    server.start()
    again = await connect(server.url, name="tests")
    assert (await event_stream(again.jetstream())).last_sequence == DAMAGED - 1
    return again


def essence(records: list[EventRecord]) -> list[tuple[object, ...]]:
    """What must be the same in a log that was made whole."""
    return [(one.sequence, one.subject, one.body, one.message_id, one.stored_at) for one in records]


@pytest.mark.parametrize("shards", [1, 2])
@pytest.mark.parametrize("reused", [0, 3, EVENTS])
@pytest.mark.parametrize("how", ["truncated", "created again"])
async def test_a_log_that_lost_events_has_them_again_with_their_sequences(
    tmp_path: Path, how: str, reused: int, shards: int
) -> None:
    """Also a hole that an erasure left; what has taken their places meanwhile follows them."""
    home = HomeFolder.at(tmp_path)
    with NatsServer(home.nats) as server:
        client = await connect(server.url, name="tests")
        await provision(client.jetstream())
        await publish(client, map(text, range(1, EVENTS + 1)))
        await client.jetstream().delete_msg(subjects.EVENTS_STREAM, 3)
        await archived(client, home, shards=shards)
        before = await log_of(client)
        client = await lost(server, client, how)
        await publish(client, (f"new {number}" for number in range(reused)))
        made = await make_whole(client, home)
        after = await log_of(client)
        gone = EVENTS - (DAMAGED - 1) if how == "truncated" and not reused else EVENTS - 1
        assert made == MadeWhole(EVENTS, gone, reused)
        assert made.needs_rebuild == bool(reused)
        assert essence(after[: len(before)]) == essence(before)
        assert [(one.sequence, one.body) for one in after[len(before) :]] == [
            (EVENTS + 1 + number, b'{"text": "new %d"}' % number) for number in range(reused)
        ]
        assert bool(logs_before(home.data / ARCHIVE)) == (how != "truncated" or bool(reused))
        await archived(client, home, shards=shards)
        assert (await make_whole(client, home)).events == 0
        assert not home.later_events.exists()
        await client.close()


async def test_a_restore_that_is_killed_is_repeated(
    nats_client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the log was deleted, the new events are in a file; the second call ends what the first began."""
    home = HomeFolder.at(tmp_path)
    await publish(nats_client, map(text, range(1, EVENTS + 1)))
    await archived(nats_client, home)
    await nats_client.jetstream().delete_stream(subjects.EVENTS_STREAM)
    await provision(nats_client.jetstream())
    await publish(nats_client, ["new 0", "new 1"])
    sound = whole_log.write_log

    async def dying(client: Client, entries: Iterable[object], **given: object) -> None:
        some = [entry for _, entry in zip(range(5), entries, strict=False)]
        await sound(client, some, **given)  # type: ignore[arg-type]
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(whole_log, "write_log", dying)
        with pytest.raises(KeyboardInterrupt):
            await make_whole(nats_client, home)
    assert len(await log_of(nats_client)) == 5
    assert await make_whole(nats_client, home) == MadeWhole(EVENTS, EVENTS, 2)
    assert [one.sequence for one in await log_of(nats_client)] == list(range(1, EVENTS + 3))


async def test_a_restore_that_is_killed_before_its_end_leaves_no_filler(
    nats_client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The archive has a hole, and every event is back when the first call is killed."""
    home, jetstream = HomeFolder.at(tmp_path), nats_client.jetstream()
    await publish(nats_client, map(text, range(1, EVENTS + 1)))
    await jetstream.delete_msg(subjects.EVENTS_STREAM, 9)
    await archived(nats_client, home)
    before = await log_of(nats_client)
    await jetstream.delete_stream(subjects.EVENTS_STREAM)
    await provision(jetstream)

    async def dying(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(JetStreamContext, "purge_stream", dying)
        with pytest.raises(KeyboardInterrupt):
            await make_whole(nats_client, home)
    assert FILLER in {one.subject for one in await log_of(nats_client)}
    assert await make_whole(nats_client, home) == MadeWhole(EVENTS, 0)
    assert essence(await log_of(nats_client)) == essence(before)


async def test_shards_and_leases_are_as_before_the_loss_of_everything_in_nats(tmp_path: Path) -> None:
    """The newest generation says where the tenants lie; readers begin after what their shard has applied."""
    home, stream = HomeFolder.at(tmp_path), Stream()
    places = ShardMap(shards=2, starts=(0, 0), overrides={"acme": 1, "beta": 0})
    with NatsServer(home.nats) as server:
        client = await connect(server.url, name="tests")
        await provision(client.jetstream())
        await publish(client, map(text, range(1, EVENTS + 1)))
        await archived(client, home, shards=2)
        await client.close()
    for shard, tenant in enumerate(("beta", "acme")):
        data = home.data_of(shard)
        opened = Shard.open(data, maintain_every=64, place=ShardPlace(shard=shard, map=places))
        bench = Bench(data, opened)
        bench.apply(stream.memories(tenant, "e", 1, [row(tenant, "e", 1, "hello")]), log_end=1)
        bench.publish(epoch=7 + shard)
        opened.close()
    shutil.rmtree(home.nats)
    with NatsServer(home.nats) as server:
        client = await connect(server.url, name="tests")
        jetstream = client.jetstream()
        await provision(jetstream)
        assert (await make_whole(client, home)).events == EVENTS
        assert await read_map(jetstream) == places
        log = await event_stream(jetstream)
        for shard in range(2):
            data = home.data_of(shard)
            manifest = Manifest.read(folder_of(data, current_number(data) or 0))
            assert manifest.stream.created_at == log.created_at
            bucket = await jetstream.key_value(streams.LEASES)
            lease = await Lease.acquire(bucket, lock_identity="test", shard=shard)
            assert lease is not None
            check_epoch(lease.epoch, manifest)
            name = streams.writer_durable(streams.CONSOLIDATION_LIFECYCLE, shard)
            reader = await jetstream.consumer_info(subjects.EVENTS_STREAM, name)
            assert reader.delivered is not None
            assert reader.delivered.stream_seq == manifest.applied_sequence
        await client.close()


async def test_a_damaged_or_missing_archive_changes_nothing(nats_client: Client, tmp_path: Path) -> None:
    """It is compared before anything is written."""
    home = HomeFolder.at(tmp_path)
    home.data.mkdir()
    with pytest.raises(NotFoundError, match=r"is no archive"):
        await make_whole(nats_client, home)
    await publish(nats_client, map(text, range(1, EVENTS + 1)))
    await archived(nats_client, home)
    segment = next((home.data / ARCHIVE).glob("*.log"))
    content = bytearray(segment.read_bytes())
    content[len(content) // 2] ^= 1
    segment.write_bytes(content)
    await nats_client.jetstream().delete_stream(subjects.EVENTS_STREAM)
    await provision(nats_client.jetstream())
    with pytest.raises(CorruptArtifactError):
        await make_whole(nats_client, home)
    assert await log_of(nats_client) == []


async def test_a_writer_does_not_follow_a_log_that_was_created_again(
    nats_client: Client, tmp_path: Path
) -> None:
    """New events would have the sequences of others."""
    jetstream, home = nats_client.jetstream(), HomeFolder.at(tmp_path)
    await publish(nats_client, map(text, range(1, EVENTS + 1)))
    await archived(nats_client, home)
    log = await event_stream(jetstream)
    followed = FollowedLog(nats_client, log, None)
    assert await followed.prepare_to_apply()
    await jetstream.delete_stream(subjects.EVENTS_STREAM)
    await provision(jetstream)
    with pytest.raises(TemporaryError, match="ended at"):
        await followed.prepare_to_apply()


async def test_a_writer_notices_a_log_that_grew_again_behind_a_damaged_byte(tmp_path: Path) -> None:
    """Its end says nothing then: another server answers, and the last event is another one."""
    home = HomeFolder.at(tmp_path)
    with NatsServer(home.nats) as server:
        client = await connect(server.url, name="tests")
        await provision(client.jetstream())
        await publish(client, map(text, range(1, EVENTS + 1)))
        log = await event_stream(client.jetstream())
        home.data.mkdir(exist_ok=True)
        with EventArchive(client, home.data, log, segment_bytes=2_000) as archive:
            followed = FollowedLog(client, log, archive)
            assert await followed.prepare_to_apply()
            again = await lost(server, client, "truncated")
            await publish(again, (f"new {number}" for number in range(EVENTS + 1)))
            grown = (await event_stream(again.jetstream())).last_sequence
            assert grown > EVENTS
            followed._client = again
            with pytest.raises(TemporaryError, match="another NATS server"):
                await followed.prepare_to_apply()
            archive._client = again
            for compared in (archive.check_continues(), archive.catch_up(grown)):
                with pytest.raises(PermanentError, match=f"event {EVENTS} of the archive is another one"):
                    await compared
        await again.close()
