"""What a writer opens is closed also where it cannot open the rest."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from pathlib import Path

import pytest

from helix_consolidation.delivery import session
from helix_consolidation.delivery.consumer import INTERRUPTIONS
from helix_consolidation.delivery.leading.standby import stand_by
from helix_consolidation.delivery.session import writer_session
from helix_consolidation.settings import ConsolidationSettings
from helix_consolidation.stores.shard import Shard
from helix_memory import subjects
from helix_memory.transport.connection import UNANSWERED
from helix_shared.broker.server import NatsServer
from helix_shared.telemetry.health import Health

from .conftest import PATIENCE_SECONDS, Stack

pytestmark = pytest.mark.integration


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


async def connected_again(stack: Stack) -> None:
    """Wait until the client of the test has the server again: it cannot be closed before that."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        is_connected = False
        while not is_connected:
            with contextlib.suppress(*UNANSWERED):
                await stack.client.jetstream().stream_info(subjects.EVENTS_STREAM)
                is_connected = True
            await asyncio.sleep(0.05)


@pytest.fixture
def settings(stack: Stack, models_dir: Path) -> ConsolidationSettings:
    """Of a writer of the stack, with an archive."""
    return ConsolidationSettings(nats_url=stack.url, data_dir=stack.data, models_dir=models_dir, archive=True)


async def test_a_shard_is_closed_where_nats_goes_away_after_it_was_opened(
    stack: Stack, settings: ConsolidationSettings, server: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The writer stands by again in the same process, and opens the folder anew."""
    opened: list[Shard] = []
    begin_empty = session.begin_empty

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
        await connected_again(stack)
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
