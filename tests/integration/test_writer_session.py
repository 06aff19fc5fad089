"""What a writer opens is closed, and let go of, however its session ends."""

from __future__ import annotations

import asyncio
import gc
import time
import weakref
from collections.abc import Collection, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from nats.aio.client import Client

from helix_consolidation.delivery.consumer import _write_once
from helix_consolidation.delivery.leading.standby import stand_by
from helix_consolidation.delivery.session import writer_session
from helix_consolidation.delivery.streams.stream_state import event_stream
from helix_consolidation.settings import ConsolidationSettings
from helix_consolidation.stores.publish import PublicationInfo
from helix_consolidation.stores.shard import Shard
from helix_memory import subjects
from helix_memory.events import MessageEvent
from helix_memory.transport.publisher import Publisher
from helix_shared.event_log.archive import Archive
from helix_shared.telemetry.health import Health
from tests.unit.consolidation.conftest import Bench, Stream, row

pytestmark = pytest.mark.integration

ATTEMPTS = 3


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
