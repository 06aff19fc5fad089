"""Three NATS servers: the leader of events or of the bucket is killed, and one loses its disk."""

from __future__ import annotations

import asyncio
import os
import random
import threading
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from nats.js import api

from helix_cli.clients.broker import connected
from helix_memory import subjects
from helix_memory.transport.connection import connect
from helix_memory.transport.polling import poll
from helix_memory.transport.publisher import Publisher
from helix_shared.artifacts.object_storage.canary import prove_preconditions
from helix_shared.artifacts.object_storage.layout import sha256_of_bytes
from helix_shared.artifacts.object_storage.nats_store import PART_BYTES
from helix_shared.artifacts.object_storage.opening import open_store
from helix_shared.artifacts.object_storage.store import ConflictError
from helix_shared.broker import streams
from helix_shared.broker.provisioning import drift
from helix_shared.broker.provisioning.provision import provision
from helix_shared.broker.server import NatsServer
from helix_shared.errors import TemporaryError
from helix_shared.object_bucket import STREAM
from tests.faults.conftest import Report

from .nats_cluster import PATIENCE_SECONDS, cluster, lose_disk, refusing, running, until_leader
from .workload import Ledger, chunks, event, id_of, stored

pytestmark = [pytest.mark.faults, pytest.mark.timeout(3_600)]

EVENTS, KILLS, PUBLISHERS = 20_000, 10, 4
IDLE_SECONDS = 12.0
"""Until a server has forgotten the block that it wrote last, and reads it again before the next message."""


def published_meanwhile(servers: list[NatsServer], ledger: Ledger, numbers: range) -> list[threading.Thread]:
    """Publishers of a part of the events each, at one server each."""
    alive = running(servers)

    def publish(part: range, url: str) -> None:
        asyncio.run(ledger.publish(url, part))

    threads = [
        threading.Thread(target=publish, args=(numbers[number::PUBLISHERS], alive[number % len(alive)].url))
        for number in range(PUBLISHERS)
    ]
    for thread in threads:
        thread.start()
    return threads


def lost_with_a_disk(folder: Path, *, replicas: int, events: int) -> int:
    """Acknowledged events that are gone after the server that led the stream has lost its disk."""
    ledger = Ledger()
    with cluster(folder, replicas=replicas) as servers:
        asyncio.run(ledger.publish(servers[0].url, range(events)))
        lose_disk(until_leader(servers))
        try:
            found = len(set(asyncio.run(stored(until_leader(servers).url))))
        except Exception:  # noqa: BLE001  a stream of one replica may be gone altogether
            found = 0
    return events - found


def test_ten_kills_of_the_leader_lose_and_double_nothing(tmp_path: Path, report: Report) -> None:
    """What three replicas acknowledged is in the stream once, also after the loss of a disk."""
    events, kills = report.scaled(EVENTS, least=200), report.scaled(KILLS, least=2)
    ledger, dice = Ledger(), random.Random(report.seed)
    with cluster(tmp_path, replicas=3) as servers:
        for numbers in chunks(events, kills):
            victim = until_leader(servers)
            threads = published_meanwhile(servers, ledger, numbers)
            wanted = len(ledger.acknowledged) + dice.randrange(max(1, len(numbers)))
            for _ in poll(PATIENCE_SECONDS, every_seconds=0.005):
                if len(ledger.acknowledged) >= wanted:
                    break
            victim.kill()
            until_leader(servers, whole=False)
            for thread in threads:
                thread.join()
            victim.start()
        lose_disk(until_leader(servers))
        ids = asyncio.run(stored(until_leader(servers).url))
    lost, twice = len(set(map(id_of, ledger.acknowledged)) - set(ids)), len(ids) - len(set(ids))
    report.counts = {
        "events": events,
        "acknowledged": len(ledger.acknowledged),
        "leader kills": kills,
        "disks lost": 1,
        "sent again": ledger.repeats,
    }
    report.figure = f"{lost} lost, {twice} twice"
    assert (len(ledger.acknowledged), lost, twice) == (events, 0, 0)
    few = 100
    lost = lost_with_a_disk(tmp_path / "control", replicas=1, events=few)
    report.control(lost > 0, "one replica loses what it acknowledged with its disk")


def refusing_after_kills(folder: Path, kills: int, dice: random.Random) -> int:
    """Servers that refuse to write after leaders were killed and came back; ends with the first."""
    ledger, sent = Ledger(), 0
    with cluster(folder, replicas=3) as servers:
        url = ",".join(server.url for server in servers)

        def publish(count: int) -> None:
            nonlocal sent
            asyncio.run(ledger.publish(url, range(sent, sent + count)))
            sent += count

        for _ in range(kills):
            publish(200)
            victim = until_leader(servers, whole=False) if dice.random() < 0.7 else dice.choice(servers)
            victim.kill()
            publish(20)
            victim.start()
            until_leader(servers)
            time.sleep(IDLE_SECONDS)
            publish(5)
            if refusing(servers):
                break
        return refusing(servers)


def test_a_killed_server_writes_again(
    tmp_path: Path, report: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its replica may be truncated when it starts, and messages are appended to it all the same."""
    kills = report.scaled(8, least=4)
    found = refusing_after_kills(tmp_path / "plain", kills, random.Random(report.seed))
    report.counts, report.figure = {"kills": kills}, f"{found} servers refuse to write"
    assert found == 0
    sound = streams.stream_config

    def compressed(stream: api.StreamConfig) -> api.StreamConfig:
        return replace(sound(stream), compression=api.StoreCompression.S2)

    monkeypatch.setattr(streams, "stream_config", compressed)
    found = refusing_after_kills(tmp_path / "compressed", 4 * kills, random.Random(report.seed))
    report.control(found > 0, "the last block of a stream that is compressed is damaged by the next message")


def test_an_event_that_is_sent_again_on_its_way_is_stored_once(tmp_path: Path) -> None:
    """The replicas have not agreed on it yet: that is no refusal, and each sender gets its sequence."""

    async def sent_together(url: str) -> list[list[int]]:
        client = await connect(url, name="test")
        publisher, found = Publisher(client.jetstream()), []
        for number in range(50):
            acks = await asyncio.gather(*(publisher.publish_event(event(number)) for _ in range(8)))
            found.append([ack.sequence for ack in acks])
        await client.close()
        return found

    with cluster(tmp_path, replicas=3) as servers:
        found = asyncio.run(sent_together(servers[0].url))
        assert found == [[sequence] * 8 for sequence in range(1, 51)]
        assert asyncio.run(stored(servers[0].url)) == [id_of(number) for number in range(50)]


def test_provisioning_gives_what_is_missing_the_replicas_of_the_others(tmp_path: Path) -> None:
    """A stream of a later release, and one that somebody changed, are as wanted afterwards."""

    async def repaired(url: str) -> list[drift.Difference]:
        async with connected(url) as jetstream:
            changed = (await jetstream.stream_info(subjects.ACCESS_STREAM)).config
            await jetstream.update_stream(replace(changed, num_replicas=1))
            await jetstream.delete_stream(subjects.DLQ_STREAM)
            assert len(await drift.differences(jetstream)) == 2
            await provision(jetstream)
            return await drift.differences(jetstream)

    with cluster(tmp_path, replicas=3) as servers:
        assert asyncio.run(repaired(servers[0].url)) == []


def test_a_bucket_of_generations_outlives_its_leader(tmp_path: Path) -> None:
    """What was uploaded is read, the pointer moves on where it was, and a listing has what was written."""
    body = os.urandom(PART_BYTES + 1)
    (tmp_path / "file").write_bytes(body)
    with cluster(tmp_path / "nats", replicas=3) as servers:
        victim = asyncio.run(bucket_leader(servers))
        hosts = ",".join(server.url.removeprefix("nats://") for server in servers)
        store, other = (open_store(f"nats://{hosts}/shard") for _ in range(2))
        prove_preconditions(store)
        store.upload("parts/ab/abc", tmp_path / "file")
        assert other.download("parts/ab/abc", tmp_path / "back", size=len(body)) == sha256_of_bytes(body)
        store.create("CURRENT", b"0")
        victim.kill()
        for _ in poll(PATIENCE_SECONDS, every_seconds=0.5):
            # the acknowledgement of a write may be lost
            with suppress(TemporaryError, ConflictError):
                found = store.read("CURRENT")
                assert found is not None
                if found.body == b"1":
                    break
                store.replace("CURRENT", b"1", found.version)
        store.upload("parts/cd/cde", tmp_path / "file")
        assert {one.path: one.size for one in store.list("parts")} == {
            "parts/ab/abc": len(body),
            "parts/cd/cde": len(body),
        }
        victim.start()
        assert other.download("parts/ab/abc", tmp_path / "again", size=len(body)) == sha256_of_bytes(body)
        found = other.read("CURRENT")
        assert found is not None
        assert found.body == b"1"
        store.delete(["parts/ab/abc"])
        assert [one.path for one in store.list("parts")] == ["parts/cd/cde"]
        store.close()
        other.close()


async def bucket_leader(servers: list[NatsServer]) -> NatsServer:
    """Make the bucket, which gets the replicas of the streams; the server that leads it."""
    async with connected(servers[0].url) as jetstream:
        await provision(jetstream, objects=True)
        found = await jetstream.stream_info(STREAM)
    assert found.config.num_replicas == len(servers)
    return next(server for server in servers if found.cluster and server.name == found.cluster.leader)
