"""Two shards on one NATS: each writer publishes its own tenants, alone and whatever the other does."""

from __future__ import annotations

import asyncio
import shutil
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from helix_cli.clients.sharding import grow
from helix_memory import events, subjects
from helix_memory.transport.connection import connect
from helix_memory.transport.publisher import Publisher
from helix_shared import edges
from helix_shared.artifacts.generation.folders import current_number, folder_of, published_numbers
from helix_shared.artifacts.generation.manifest import Manifest
from helix_shared.broker import streams
from helix_shared.broker.provisioning.provision import provision
from helix_shared.broker.server import NatsServer
from helix_shared.broker.shard_bucket import read_map
from helix_shared.errors import InvalidInputError, TemporaryError
from helix_shared.event_log.archive_files import entries_of
from helix_shared.event_log.record import EventRecord
from helix_shared.identity import memory_id
from helix_shared.shard_map import SHARD_FILE, ShardPlace

from .conftest import ACK_WAIT_SECONDS, DIMENSIONS, LEASE_SECONDS, Stack, row

pytestmark = pytest.mark.integration

TENANTS = ("acme", "globex", "initech", "umbrella", "hooli", "stark")
UNFENCED = """
import runpy
from helix_consolidation.delivery.leading.lease import Lease

async def renew(self):
    pass

Lease.renew = renew
Lease.is_held = property(lambda self: True)
runpy.run_module("helix_consolidation", run_name="__main__")
"""
"""A writer whose lease is never lost."""


class Sharded:
    """Two writers, each a `Stack` with a data folder of its own, and events of six tenants."""

    def __init__(self, url: str, folder: Path, client: object) -> None:
        self.stacks = [Stack(url, folder / f"shard-{n}" / "data", client) for n in range(2)]  # type: ignore[arg-type]
        self._client = self.stacks[0].client
        self.sent: dict[str, list[int]] = {tenant: [] for tenant in TENANTS}
        self._event = 0

    def start(self, shard: int, *, code: str = "", **settings: str) -> None:
        """Start the writer of a shard."""
        self.stacks[shard].data.parent.mkdir(parents=True, exist_ok=True)
        self.stacks[shard].start(code=code, shard=str(shard), **settings)

    async def remember(self, tenant: str) -> int:
        """Publish an event and its memories message, as ingest would; returns the sequence."""
        event_id = f"e{self._event}"
        self._event += 1
        publisher = Publisher(self._client.jetstream())
        event = events.MemoryEvent(event_id=event_id, tenant_id=tenant, text="text")
        sequence = (await publisher.publish_event(event)).sequence
        made = row(event_id, sequence, f"{tenant} {event_id}", tenant_id=tenant)
        made["memory_id"] = memory_id(tenant, event_id, 0)
        origin = edges.Origin("memories", tenant, event_id, "memory", sequence)
        await publisher.publish(
            subjects.derived_subject("memories", tenant),
            edges.encode(origin, [made], edges.memories_schema(DIMENSIONS)),
            message_id=subjects.derived_message_id("memories", sequence, "1"),
            headers={subjects.EVENT_SEQUENCE_HEADER: str(sequence)},
        )
        self.sent[tenant].append(sequence)
        return sequence

    async def until_served(self, shard: int, sequence: int) -> Manifest:
        """Wait until a shard tells that everything up to an event is applied."""
        return await self.stacks[shard].until(lambda m: m.applied_sequence >= sequence)

    async def check(self) -> None:
        """Every event is a memory in the shard of its tenant, once; no shard has another's."""
        found = await read_map(self._client.jetstream())
        end = max(sequence for sent in self.sent.values() for sequence in sent)
        for shard, stack in enumerate(self.stacks):
            await self.until_served(shard, end)
            rows = [(one["tenant_id"], one["stream_sequence"]) for one in stack.rows()]
            own = [(t, s) for t, sent in self.sent.items() if found.shard_of(t) == shard for s in sent]
            assert sorted(rows) == sorted(own)


@pytest.fixture
async def sharded(server: NatsServer, tmp_path: Path) -> AsyncIterator[Sharded]:
    """Two shards that were provisioned before any event."""
    client = await connect(server.url, name="test")
    for _ in range(2):  # consumers of new shards come with the second
        await provision(client.jetstream(), ack_wait_seconds=ACK_WAIT_SECONDS, lease_seconds=LEASE_SECONDS)
        await grow(client, 2)
    made = Sharded(server.url, tmp_path, client)
    yield made
    for stack in made.stacks:
        stack.end()
    await client.close()


async def _owner(sharded: Sharded, shard: int) -> str:
    found = await read_map(sharded.stacks[0].client.jetstream())
    return next(tenant for tenant in TENANTS if found.shard_of(tenant) == shard)


async def test_each_shard_has_its_tenants_and_no_others(sharded: Sharded) -> None:
    """Every event once; the archive, and what a generation says of its shard, too."""
    for shard in range(2):
        sharded.start(shard)
    for _ in range(5):
        for tenant in TENANTS:
            await sharded.remember(tenant)
    await sharded.check()
    found = await read_map(sharded.stacks[0].client.jetstream())
    archived = list[int]()
    for shard, stack in enumerate(sharded.stacks):
        number = current_number(stack.data)
        assert number is not None
        place = ShardPlace.decoded((folder_of(stack.data, number) / SHARD_FILE).read_bytes())
        assert place == ShardPlace(shard=shard, map=found)
        await stack.until_acknowledged()
        await stack.stopped()
        own = {s for t, sent in sharded.sent.items() if found.shard_of(t) == shard for s in sent}
        entries = entries_of(stack.data / "archive")
        kept = {entry.sequence for entry in entries if isinstance(entry, EventRecord)}
        assert kept == own
        archived += kept
    assert sorted(archived) == list(range(1, 31))


async def test_a_killed_writer_leaves_the_other_running(sharded: Sharded) -> None:
    """Events of the living shard are recallable meanwhile, the others after a restart."""
    for shard in range(2):
        sharded.start(shard)
    for tenant in TENANTS:
        await sharded.remember(tenant)
    await sharded.check()
    sharded.stacks[1].processes[-1].kill()
    for _ in range(3):
        for tenant in TENANTS:
            last = await sharded.remember(tenant)
    living = await sharded.until_served(0, await sharded.remember(await _owner(sharded, 0)))
    assert living.applied_sequence > last
    number = current_number(sharded.stacks[1].data)
    assert number is not None
    assert Manifest.read(folder_of(sharded.stacks[1].data, number)).applied_sequence < last
    sharded.start(1)
    await sharded.check()


async def test_what_a_living_shard_read_is_kept_for_the_other(sharded: Sharded) -> None:
    """Shard 1 is not started until shard 0 has acknowledged and pruned: nothing of shard 1 is gone."""
    sharded.start(0)
    for tenant in TENANTS * 2:
        await sharded.remember(tenant)
    await sharded.until_served(0, 12)
    await sharded.stacks[0].until_acknowledged()
    # doc2query and kg have nothing left, either: what stays is for shard 1
    for name in (streams.DOC2QUERY, streams.KG):
        await sharded.stacks[0].client.jetstream().delete_consumer(subjects.DERIVED_STREAM, name)
    await provision(sharded.stacks[0].client.jetstream(), ack_wait_seconds=ACK_WAIT_SECONDS)
    await asyncio.sleep(6)
    sharded.start(1)
    await sharded.check()


async def test_events_of_another_shard_are_told_late_but_never_hold_an_own_one_back(sharded: Sharded) -> None:
    """An own event after foreign ones is told at once; foreign ones alone wait for the longer interval."""
    own, foreign = await _owner(sharded, 0), await _owner(sharded, 1)
    sharded.start(0, backlog_interval_seconds="4")
    await sharded.until_served(0, await sharded.remember(own))
    generation = current_number(sharded.stacks[0].data)
    last = await sharded.remember(foreign)
    await asyncio.sleep(1.5)
    assert current_number(sharded.stacks[0].data) == generation
    await sharded.until_served(0, last)
    await sharded.remember(foreign)
    last = await sharded.remember(own)
    await asyncio.wait_for(sharded.until_served(0, last), 3)


async def test_a_forget_reaches_the_shard_of_its_tenant(sharded: Sharded) -> None:
    """It hides the memory there, and both shards go on."""
    for shard in range(2):
        sharded.start(shard)
    tenant = await _owner(sharded, 1)
    for one in TENANTS:
        await sharded.remember(one)
    event_id = f"e{TENANTS.index(tenant)}"
    publisher = Publisher(sharded.stacks[0].client.jetstream())
    forget = events.ForgetEvent(event_id="f", tenant_id=tenant, memory_ids=[memory_id(tenant, event_id, 0)])
    sequence = (await publisher.publish_event(forget)).sequence
    for shard in range(2):
        await sharded.until_served(shard, sequence)
    hidden = [[one["event_id"] for one in stack.rows() if one["hidden"]] for stack in sharded.stacks]
    assert hidden == [[], [event_id]]


@pytest.mark.parametrize("is_fenced", [True, False])
async def test_of_two_writers_of_a_shard_the_one_that_paused_publishes_nothing(
    sharded: Sharded, tmp_path: Path, *, is_fenced: bool
) -> None:
    """They are on two machines: each has a data folder. Control: without the fence both publish the event."""
    shard, tenant = sharded.stacks[1], await _owner(sharded, 1)
    sharded.start(1, code="" if is_fenced else UNFENCED, publish_interval_seconds="3")
    await sharded.until_served(1, await sharded.remember(tenant))
    paused, before = shard.processes[-1], current_number(shard.data)
    other = Stack(shard.url, tmp_path / "other" / "data", shard.client)
    other.data.parent.mkdir()
    await sharded.remember(tenant)
    await asyncio.sleep(1)  # applied, and not published yet
    assert current_number(shard.data) == before
    paused.send_signal(signal.SIGSTOP)
    try:
        # it lacks what the first one acknowledged, so it has that one's generations
        await asyncio.to_thread(_copy, shard.data, other.data)
        other.start(shard="1")
        await other.until(lambda m: m.counts.memories == 2)
        paused.send_signal(signal.SIGCONT)
        if is_fenced:
            await shard.until_logged(paused, "another process has the lease")
            assert max(published_numbers(shard.data)) == before
        else:
            await shard.until(lambda m: m.counts.memories == 2)
    finally:
        other.end()


def _copy(source: Path, target: Path) -> None:
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("live", "live.lock", "staging"))


async def test_more_shards_while_tenants_exist(server: NatsServer, tmp_path: Path) -> None:
    """Tenants with events stay; the writer must not run; new tenants are spread."""
    client = await connect(server.url, name="test")
    await provision(client.jetstream(), ack_wait_seconds=ACK_WAIT_SECONDS)
    world = Sharded(server.url, tmp_path, client)
    try:
        world.start(0)
        for tenant in TENANTS[:3]:
            last = await world.remember(tenant)
        await world.until_served(0, last)
        with pytest.raises(TemporaryError, match="writer of shard 0 runs"):
            await grow(client, 2)
        await world.stacks[0].stopped()
        assert await grow(client, 2)
        assert not await grow(client, 2)
        with pytest.raises(InvalidInputError, match="--shards"):
            await grow(client, 1)
        await provision(client.jetstream(), ack_wait_seconds=ACK_WAIT_SECONDS)
        found = await read_map(client.jetstream())
        assert [found.shard_of(one) for one in TENANTS[:3]] == [0, 0, 0]
        assert found.starts == (0, 3)
        for shard in range(2):
            world.start(shard)
        for tenant in TENANTS * 2:
            await world.remember(tenant)
        await world.check()
    finally:
        for stack in world.stacks:
            stack.end()
        await client.close()
