"""What a writer opens is closed, and let go of, however its session ends, also where it cannot be opened."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
import weakref
from collections.abc import Collection, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from nats.aio.client import Client

from helix_consolidation.delivery import session
from helix_consolidation.delivery.consumer import INTERRUPTIONS, _write_once
from helix_consolidation.delivery.leading.standby import stand_by
from helix_consolidation.delivery.session import writer_session
from helix_consolidation.delivery.streams.stream_state import event_stream
from helix_consolidation.settings import ConsolidationSettings
from helix_consolidation.stores.publish import PublicationInfo
from helix_consolidation.stores.shard import Shard
from helix_memory import subjects
from helix_memory.events import MessageEvent
from helix_memory.transport.connection import server_id
from helix_memory.transport.publisher import Publisher
from helix_shared.broker.server import NatsServer
from helix_shared.event_log.archive import Archive
from helix_shared.telemetry.health import Health
from tests.unit.consolidation.conftest import Bench, Stream, row

from .conftest import PATIENCE_SECONDS, Stack

pytestmark = pytest.mark.integration

ATTEMPTS = 3


def open_below(folder: Path) -> list[str]:
    """Files below `folder` that this process has open or mapped, but for the lock of the folder."""
    lines = Path("/proc/self/maps").read_text().splitlines()
    files = {line.split(maxsplit=5)[5] for line in lines if line.count(" ") > 4 and "/" in line}
    for one in Path("/proc/self/fd").iterdir():
        if one.is_symlink():
            files.add(str(one.readlink()))
    return sorted(file for file in files if file.startswith(f"{folder}/") and "live.lock" not in file)


async def open_session(stack: Stack, settings: ConsolidationSettings) -> None:
    """Open a session as the writer does; it must fail."""
    acquired = await stand_by(stack.client.jetstream(), stack.data, asyncio.Event(), shard=0)
    assert acquired is not None
    lock, lease = acquired
    try:
        async with writer_session(stack.client, settings, lease, Health()):
            pytest.fail("it is open")
    finally:
        lock.release()


@pytest.fixture
def settings(stack: Stack, models_dir: Path) -> ConsolidationSettings:
    """Of a writer of the stack, with an archive."""
    return ConsolidationSettings(nats_url=stack.url, data_dir=stack.data, models_dir=models_dir, archive=True)


async def test_a_shard_is_closed_where_nats_goes_away_after_it_was_opened(
    stack: Stack, settings: ConsolidationSettings, server: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The writer stands by again in the same process, and opens the folder anew."""
    opened: list[Shard] = []
    begin_empty, killed = session.begin_empty, server_id(stack.client)

    def begun(shard: Shard, models: Path) -> None:
        begin_empty(shard, models)
        opened.append(shard)
        assert open_below(stack.data)
        server.kill()

    monkeypatch.setattr(session, "begin_empty", begun)
    try:
        with pytest.raises(INTERRUPTIONS):
            await open_session(stack, settings)
    finally:
        server.start()
    async with asyncio.timeout(PATIENCE_SECONDS):
        # a client that is closed while it connects again raises ConnectionResetError
        while server_id(stack.client) == killed or not stack.client.is_connected:  # noqa: ASYNC110  no event tells
            await asyncio.sleep(0.02)
    [shard] = opened
    assert shard.live is None
    assert open_below(stack.data) == []


async def test_a_shard_is_closed_where_opening_it_is_cancelled(
    stack: Stack, settings: ConsolidationSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The thread that opens it goes on, since nothing can end it."""
    opened: list[Shard] = []
    begins, may_end = threading.Event(), threading.Event()
    begin_empty = session.begin_empty

    def begun(shard: Shard, models: Path) -> None:
        begins.set()
        may_end.wait(30)
        begin_empty(shard, models)
        opened.append(shard)

    monkeypatch.setattr(session, "begin_empty", begun)
    opening = asyncio.create_task(open_session(stack, settings))
    assert await asyncio.to_thread(begins.wait, 30)
    opening.cancel()
    await asyncio.sleep(0)
    may_end.set()
    with pytest.raises(asyncio.CancelledError):
        await opening
    [shard] = opened
    assert shard.live is None
    assert open_below(stack.data) == []


@pytest.fixture
def without_collections() -> Iterator[None]:
    """What is let go of must not wait for the garbage collector: a state is as large as its memories."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def open_files() -> int:
    """Files that this process has open."""
    return len(list(Path("/proc/self/fd").iterdir()))


async def written(client: Client, data: Path) -> ConsolidationSettings:
    """The settings of a writer whose data folder has a generation of the log."""
    said = MessageEvent(event_id="e1", tenant_id="acme", session_id="s", role="user", text="hello")
    await Publisher(client.jetstream()).publish_event(said)
    bench = Bench(data, Shard.open(data, maintain_every=64))
    bench.apply(Stream().memories("acme", "e1", 1, [row("acme", "e1", 1, "hello")]))
    info = PublicationInfo(0, await event_stream(client.jetstream()), datetime.now(UTC))
    bench.shard.publish(info, ensure_lease=lambda: None)
    bench.shard.close()
    return ConsolidationSettings(data_dir=data, models_dir=data / "models")


@pytest.mark.usefixtures("without_collections")
async def test_a_session_that_cannot_be_opened_leaves_nothing_behind(
    nats_client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stream is missing: the writer tries again every second, and loads its memories each time."""
    settings = await written(nats_client, tmp_path)
    await nats_client.jetstream().delete_stream(subjects.ACCESS_STREAM)
    opened: list[weakref.ref[Shard]] = []
    open_stores = Shard.open

    def remembered(*arguments: object, **named: object) -> Shard:
        shard = open_stores(*arguments, **named)  # type: ignore[arg-type]
        opened.append(weakref.ref(shard))
        return shard

    monkeypatch.setattr(Shard, "open", remembered)
    files = []
    for _ in range(ATTEMPTS):
        assert await _write_once(nats_client, settings, asyncio.Event(), Health(hang_seconds=60.0))
        files.append(open_files())
    assert [one() for one in opened] == [None] * ATTEMPTS
    assert files == [files[0]] * ATTEMPTS


async def test_the_end_of_a_session_waits_for_its_archive_beside_the_event_loop(
    nats_client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An erasure goes through all segments, for minutes: the process still answers, and ends in time."""

    def erase_slowly(_: Archive, sequences: Collection[int]) -> frozenset[int]:
        time.sleep(1.0)
        return frozenset(sequences)

    monkeypatch.setattr(Archive, "erase", erase_slowly)
    settings = await written(nats_client, tmp_path)
    acquired = await stand_by(nats_client.jetstream(), tmp_path, asyncio.Event())
    assert acquired is not None
    lock, lease = acquired
    longest, before = 0.0, time.monotonic()

    async def tick() -> None:
        nonlocal longest, before
        while True:
            await asyncio.sleep(0.01)
            longest, before = max(longest, time.monotonic() - before), time.monotonic()

    async with writer_session(nats_client, settings, lease, Health(hang_seconds=60.0)) as session:
        assert session.archive is not None
        erasing = asyncio.create_task(session.archive.erase([1]))
        await asyncio.sleep(0.1)
        before = time.monotonic()
        ticking = asyncio.create_task(tick())
        await asyncio.sleep(0)
    ticking.cancel()
    assert longest < 0.5
    assert await erasing == {1}
    lock.release()
