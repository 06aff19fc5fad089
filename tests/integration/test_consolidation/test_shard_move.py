"""A tenant moves between two writers and back: whole, alike, and whatever ends the command."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from helix_cli.rebuilding.parity.compare import compare
from helix_cli.rebuilding.parity.result import Parity
from helix_consolidation.stores.erased_before import erased_spans
from helix_memory.events import EraseEvent
from helix_memory.sharding import hashed_shard
from helix_memory.subjects import ACCESS_STREAM, EVENTS_STREAM, access_subject
from helix_memory.transport.polling import async_poll
from helix_shared.accesses import AccessedMemory, encode_accesses
from helix_shared.artifacts.erasures.receipts import Receipts
from helix_shared.artifacts.generation.folders import current_number, folder_of
from helix_shared.artifacts.generation.reader import Generation
from helix_shared.broker import streams
from helix_shared.broker.server import NatsServer
from helix_shared.errors import InvalidInputError, PermanentError
from helix_shared.identity import memory_id
from helix_shared.moments import microseconds
from tests.folder_contents import files_with

from .conftest import PATIENCE_SECONDS
from .moving import FIRST, OTHER, STEPS, TENANT, World, said, world_of

pytestmark = [pytest.mark.integration, pytest.mark.timeout(900)]

TURNS = (
    "We picked Postgres for the ledger, Priya has run it for years.",
    "Lukas moved to Porto in March and works from there.",
    "I live in Berlin.",
    "I moved, I live in Hamburg now.",
    "The release train leaves every second Tuesday at ten.",
    "The release train leaves every second Thursday at nine.",
)
KEEPING = """
import runpy
from helix_consolidation.stores.shard import Shard

Shard.drop_foreign = lambda self, *, now: []
runpy.run_module("helix_consolidation", run_name="__main__")
"""
"""A writer that keeps what the map places elsewhere."""


@pytest.fixture
async def world(server: NatsServer, tmp_path: Path, models_dir: Path) -> AsyncIterator[World]:
    """Two shards with running writers."""
    async with world_of(server.url, tmp_path, models_dir) as made:
        yield made


async def _live(world: World) -> int:
    """Much of what can happen to memories; returns the last sequence."""
    turn = {"kind": "message", "tenant_id": TENANT, "role": "user", "session_id": "s"}
    await world.tell(*(turn | {"event_id": f"t{n}", "text": text} for n, text in enumerate(TURNS)))
    page = {"kind": "document", "tenant_id": TENANT, "document_id": "handbook"}
    note = {"kind": "memory", "tenant_id": TENANT}
    last = await world.tell(
        page | {"event_id": "d1", "body": "Invoices go out on the last Friday. Ask Jana for the seal."},
        page | {"event_id": "d2", "body": "Invoices go out on the first Monday. Ask Jana for the seal."},
        note | {"event_id": "v1", "text": "The blue van is sold."},
        note | {"event_id": "v2", "text": "The vault opens with xyzzyplugh42."},
    )
    ids = {name: memory_id(TENANT, name, 0) for name in ("t0", "t3", "v1", "v2")}
    await world.until_applied(last)
    fields = {"tenant_id": TENANT}
    return await world.tell(
        fields | {"kind": "erase", "event_id": "x1", "memory_ids": [ids["v2"]]},
        fields | {"kind": "forget", "event_id": "x2", "memory_ids": [ids["v1"]]},
        fields | {"kind": "feedback", "event_id": "x3", "helpful": [ids["t0"]]},
        fields | {"kind": "undo", "event_id": "x4", "memory_id": ids["t3"]},
    )


async def _until_erased(world: World, shard: int) -> None:
    stack = world.stacks[shard]
    await stack.until(lambda manifest: _is_erased(stack.data, manifest.generation))


def _is_erased(data: Path, number: int) -> bool:
    receipt = Receipts.open(folder_of(data, number)).find(TENANT, "x1")
    return receipt is not None and receipt.is_complete


def _current(data: Path) -> int:
    return current_number(data) or 0


def _compared(before: Generation, after: Generation, up_to: int, spans: list[tuple[int, int]]) -> Parity:
    parity = Parity(before.manifest.generation, up_to)
    compare(before, after, parity, erased=spans)
    return parity


async def test_a_moved_tenant_is_what_it_was_and_so_it_is_when_it_comes_back(
    world: World, tmp_path: Path
) -> None:
    """Memories, versions, vectors, links and relations are equal; the shard that it leaves has nothing."""
    end = await _live(world)
    await world.until_applied(end)
    await _until_erased(world, FIRST)
    spans = erased_spans(folder_of(world.data_of(FIRST), _current(world.data_of(FIRST))))
    with closing(world.kept(FIRST, tmp_path / "before")) as before:
        assert before.manifest.counts.memories > len(TURNS)
        assert files_with(world.data_of(FIRST), "Postgres")
        for target, source in ((OTHER, FIRST), (FIRST, OTHER)):
            late = await world.tell(*said(target), derives=False)
            done = await world.moved(target)
            # derived when the new shard has it already
            await world.derive()
            await world.until_applied(late)
            assert (done.source, done.target, done.sequence) == (source, target, late)
            with closing(world.kept(target, tmp_path / str(target))) as after:
                parity = _compared(before, after, end, spans)
                assert after.manifest.counts.memories == done.memories
            assert not [one for one in parity.sections if one.different > one.explained], parity
            compared = {one.name for one in parity.sections if one.compared}
            assert compared >= {"memories", "texts", "vectors", "links", "relations"}
            assert world.events_of(source) == []
            assert world.archived(source) == []
            assert len(world.archived(target)) == done.events
            assert not files_with(world.data_of(source), "Postgres")
            assert _is_erased(world.data_of(target), _current(world.data_of(target)))
    with pytest.raises(InvalidInputError, match="lies in shard"):
        await world.move(FIRST).run()


@pytest.mark.parametrize(
    "steps", [("switched",), pytest.param(STEPS, marks=pytest.mark.long)], ids=["switched", "every step"]
)
async def test_what_ends_the_command_leaves_the_tenant_whole_in_one_shard(
    world: World, steps: tuple[str, ...]
) -> None:
    """Killed at each step, and made again."""
    sent: list[str] = []
    for number, step in enumerate(steps):
        names = [2 * number, 2 * number + 1]
        await world.until_applied(await world.tell(*said(*names)))
        source = await world.lies_in()
        await world.killed(1 - source, step)
        await world.until_applied(await world.tell(*said(100 + number)))
        sent += [f"n{name}" for name in (*names, 100 + number)]
        where = await world.lies_in()
        assert where == (1 - source if step == "switched" else source)
        assert world.events_of(where) == sorted(sent)
        assert world.events_of(1 - where) == []


@pytest.mark.long
async def test_a_writer_that_keeps_what_is_not_its_own_has_the_tenant_twice(world: World) -> None:
    """The control of the test above: the writer that the command stopped keeps what it published."""
    await world.until_applied(await world.tell(*said(0, 1)))
    source = await world.lies_in()
    await world.stacks[1 - source].stopped()
    await world.killed(1 - source, "published")
    world.start(1 - source, code=KEEPING)
    await world.until_applied(await world.tell(*said(200)))
    assert world.events_of(source) == ["n0", "n1", "n200"]
    assert world.events_of(1 - source) == ["n0", "n1"], "both shards have the tenant"


async def test_what_the_old_shard_had_not_carried_out_the_new_one_carries_out_once(world: World) -> None:
    """An erasure, a forget and feedback that wait for an event without memories while the tenant moves."""
    await world.until_applied(await world.tell(*said(1, 2, 3)))
    ids = [memory_id(TENANT, f"n{n}", 0) for n in (1, 2, 3)]
    fields = {"tenant_id": TENANT}
    await world.tell(
        *said(4), fields | {"kind": "feedback", "event_id": "f", "helpful": ids[2:]}, derives=False
    )
    await world.stacks[0].publish_event(EraseEvent(event_id="x1", tenant_id=TENANT, memory_ids=ids[:1]))
    await world.moved(OTHER)
    await world.derive()
    last = await world.tell(fields | {"kind": "forget", "event_id": "g", "memory_ids": ids[1:2]})
    await world.until_applied(last)
    await _until_erased(world, OTHER)
    rows = {one["event_id"]: one for one in world.stacks[OTHER].rows() if one["tenant_id"] == TENANT}
    assert sorted(rows) == ["n2", "n3", "n4"]
    assert [rows[name]["deleted_at"] is not None for name in ("n2", "n3", "n4")] == [True, False, False]
    assert rows["n3"]["helpful_count"] == 1
    assert not any(files_with(world.data_of(shard) / "archive", "number 1 is") for shard in (0, 1))


async def test_every_access_counts_once_whichever_writer_was_ahead(world: World) -> None:
    """Of the tenant on its way to a writer that passed them by, and of another's on the way back."""
    stays = next(f"stays{n}" for n in range(99) if hashed_shard(f"stays{n}", 2) == FIRST)
    await world.until_applied(await world.tell(*said(1), *said(2, tenant=stays)))
    await world.stacks[OTHER].stopped()
    world.start(OTHER, access_interval_seconds="0.1")
    await _access(world, TENANT, "n1")
    await _until_counted(world, OTHER, 1)
    await world.moved(OTHER)
    assert _accesses(world, OTHER) == {"n1": 1}
    await _access(world, stays, "n2")
    await _access(world, TENANT, "n1")
    await _until_counted(world, OTHER, 3)
    await world.moved(FIRST)
    assert _accesses(world, FIRST) == {"n1": 2, "n2": 1}
    await world.stacks[FIRST].stopped()
    world.start(FIRST, access_interval_seconds="0.1")
    await _access(world, stays, "n2")
    await _until_counted(world, FIRST, 4)
    assert _accesses(world, FIRST) == {"n1": 2, "n2": 2}


async def _access(world: World, tenant: str, event: str) -> None:
    one = AccessedMemory(memory_id(tenant, event, 0), 1, microseconds(datetime.now(UTC)))
    await world.client.jetstream().publish(access_subject(tenant), encode_accesses([one]))


async def _until_counted(world: World, shard: int, sequence: int) -> None:
    durable = streams.writer_durable(streams.CONSOLIDATION_ACCESS, shard)
    async for _ in async_poll(PATIENCE_SECONDS):
        consumer = await world.client.jetstream().consumer_info(ACCESS_STREAM, durable)
        if consumer.ack_floor and consumer.ack_floor.stream_seq >= sequence:
            return
    pytest.fail(world.logs())


def _accesses(world: World, shard: int) -> dict[str, int]:
    return {one["event_id"]: one["access_count"] for one in world.stacks[shard].rows()}


async def test_a_tenant_whose_memories_do_not_follow_from_the_log_stays(world: World) -> None:
    """The log has lost an event, so its memory could not be made again: nothing moves or is lost."""
    last = await world.tell(*said(1, 2))
    await world.until_applied(last)
    await world.client.jetstream().delete_msg(EVENTS_STREAM, last)
    with pytest.raises(PermanentError, match="1 of 2 memories of acme do not follow from the log"):
        await world.move(OTHER).run()
    await world.until_applied(await world.tell(*said(3)))
    assert await world.lies_in() == FIRST
    assert world.events_of(FIRST) == ["n1", "n2", "n3"]
    assert world.events_of(OTHER) == []
