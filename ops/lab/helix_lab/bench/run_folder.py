"""The home of a run: a clone of built data with a stack over it, and a stream that continues after the data.

Generation 1 counts events that no stream holds. So the new stream begins after them: consolidation then
accepts the generation as its own, and live events follow it.
"""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from helix_cli.clients.broker import provision_server
from helix_cli.home.folder import HomeFolder
from helix_cli.stack.stack import Stack
from helix_lab.bench.generate.build_cache import clone_built
from helix_lab.bench.generate.load import BuildInfo
from helix_memory.subjects import EVENTS_STREAM
from helix_memory.transport.connection import connect
from helix_shared.broker.server import NatsServer

READY_SECONDS: Final = 600.0


@contextlib.contextmanager
def stack_over(built: Path, info: BuildInfo, models: Path) -> Iterator[Stack]:
    """The whole stack over a clone of `built`, ready; the clone is removed with it.

    Raises:
        TemporaryError: it does not get ready.
    """
    # hard links need the file system of the data
    with tempfile.TemporaryDirectory(prefix=".run-", dir=built.parent) as home:
        prepare(Path(home), built, info)
        with Stack(Path(home), nats_port=0, query_port=0, models=models) as stack:
            stack.wait_ready(timeout_seconds=READY_SECONDS)
            yield stack


def prepare(home: Path, built: Path, info: BuildInfo) -> None:
    """Clone `built` into `home` and begin the event stream after its last event."""
    folder = HomeFolder.at(home)
    clone_built(built, folder.data)
    with NatsServer(folder.nats) as server:
        provision_server(server.url)
        asyncio.run(_begin_after(server.url, info.events))


async def _begin_after(url: str, last: int) -> None:
    client = await connect(url, name="helix-bench")
    try:
        # purging a stream up to a sequence it has not reached makes that its next sequence
        await client.jetstream().purge_stream(EVENTS_STREAM, seq=last + 1)
    finally:
        await client.close()
