"""Two writers on one NATS, and this process as their worker: it derives with the workers' own functions."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from nats.aio.client import Client
from nats.aio.msg import Msg

from helix_cli.clients.sharding import grow
from helix_cli.moving.move import Move, Moved, until_followed
from helix_cli.rebuilding.derive import Workers
from helix_cli.rebuilding.deriving import Deriving
from helix_cli.rebuilding.event_messages import EventMessages
from helix_cli.rebuilding.refusals import Refusals
from helix_memory.events import Event, parse_event
from helix_memory.sharding import hashed_shard
from helix_memory.subjects import DERIVED_STREAM, EVENTS_STREAM, ROOT
from helix_memory.transport.connection import connect
from helix_memory.transport.publisher import Publisher
from helix_shared.artifacts.generation.folders import current_number, folder_of
from helix_shared.artifacts.generation.reader import Generation
from helix_shared.broker import streams
from helix_shared.broker.cancelling import cancel_all
from helix_shared.broker.log_reader import read_range
from helix_shared.broker.provisioning.provision import provision
from helix_shared.broker.shard_bucket import read_map
from helix_shared.encoders.encoder import Encoder
from helix_shared.encoders.store import default_model
from helix_shared.event_log.archive_files import entries_of
from helix_shared.event_log.record import EventRecord

from .conftest import ACK_WAIT_SECONDS, LEASE_SECONDS, Stack

TENANT = "acme"
FIRST = hashed_shard(TENANT, 2)
OTHER = 1 - FIRST
STEPS = ("stopped", "applied", "published", "switched")
KILLED = """
import asyncio, os, signal, sys
from pathlib import Path
from helix_cli.moving import move as moving
from helix_memory.transport.connection import connect

url, folder, model, tenant, target, step = sys.argv[1:]
replace_map = moving.replace_map

def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

async def replace_and_die(*given, **named):
    await replace_map(*given, **named)
    die()

if step == "stopped":
    moving.Move._opened = die
elif step == "applied":
    moving.Move._publish = die
else:
    moving.replace_map = die if step == "published" else replace_and_die

async def main():
    client = await connect(url, name="test")
    data_of = lambda shard: Path(folder) / f"shard-{shard}" / "data"
    await moving.Move(client, tenant, int(target), data_of, Path(model), print).run()

asyncio.run(main())
"""
"""A move that is killed: when it has the leases, before and after it publishes, after the map is replaced."""


class World:
    """Two shards, whose writers run, and what was published."""

    def __init__(self, url: str, folder: Path, client: Client, models: Path, messages: EventMessages) -> None:
        self.url = url
        self.folder = folder
        self.client = client
        self.models = models
        self.stacks = [Stack(url, self.data_of(shard), client) for shard in range(2)]
        self._messages = messages
        self._derived = 0
        self._held: list[Msg] = []

    def data_of(self, shard: int) -> Path:
        """The data folder of a shard."""
        return self.folder / f"shard-{shard}" / "data"

    def start(self, shard: int, *, code: str = "", **settings: str) -> None:
        """Start the writer of a shard."""
        self.data_of(shard).parent.mkdir(parents=True, exist_ok=True)
        self.stacks[shard].start(code=code, shard=str(shard), models_dir=str(self.models), **settings)

    async def tell(self, *events: dict[str, Any], derives: bool = True) -> int:
        """Publish events and what the workers make of them, or hold that back; returns the last sequence."""
        publisher = Publisher(self.client.jetstream())
        parsed: list[Event] = [parse_event(json.dumps(event).encode()) for event in events]
        last = [(await publisher.publish_event(event)).sequence for event in parsed][-1]
        every = read_range(self.client, EVENTS_STREAM, [f"{ROOT}.events.>"], after=self._derived, until=last)
        async for batch in every:
            made = await self._messages.of(batch)
            self._held += [one for one in made if one.metadata.stream == DERIVED_STREAM]
        self._derived = last
        if derives:
            await self.derive()
        return last

    async def derive(self) -> None:
        """Publish what was derived and held back."""
        publisher = Publisher(self.client.jetstream())
        held, self._held = self._held, []
        for number, one in enumerate(held):
            identity = f"derived-{time.monotonic_ns()}-{number}"
            await publisher.publish(
                one.subject, one.data, message_id=identity, headers=dict(one.headers or {})
            )

    async def acknowledge_for(self, worker: str) -> None:
        """Be a worker that reads HELIX_DERIVED and makes nothing of it: an erasure waits for those."""
        jetstream = self.client.jetstream()
        reading = await jetstream.pull_subscribe_bind(durable=worker, stream=DERIVED_STREAM)
        while True:
            with suppress(TimeoutError):
                for message in await reading.fetch(64, timeout=1):
                    await message.ack()

    async def until_applied(self, sequence: int) -> None:
        """Wait until both shards have every event up to one."""
        for stack in self.stacks:
            await stack.until(lambda m: m.applied_sequence >= sequence)

    def move(self, shard: int, tenant: str = TENANT) -> Move:
        """A move in this process, which is not yet run."""
        return Move(self.client, tenant, shard, self.data_of, default_model(self.models), lambda _: None)

    async def moved(self, shard: int, tenant: str = TENANT) -> Moved:
        """Move a tenant, and wait until both writers have published with the new map."""
        done = await self.move(shard, tenant).run()
        assert await asyncio.to_thread(until_followed, self.data_of, done), self.logs()
        return done

    async def killed(self, shard: int, step: str) -> None:
        """Run a move in a process that is killed at a step."""
        model = str(default_model(self.models))
        given = [self.url, str(self.folder), model, TENANT, str(shard), step]
        command, pipe = [sys.executable, "-c", KILLED, *given], subprocess.PIPE
        done = await asyncio.to_thread(subprocess.run, command, stdout=pipe, stderr=subprocess.STDOUT)
        assert done.returncode == -signal.SIGKILL, done.stdout.decode()

    def events_of(self, shard: int, tenant: str = TENANT) -> list[str]:
        """Event ids of the memories of a tenant in the current generation, sorted."""
        rows = [one for one in self.stacks[shard].rows() if one["tenant_id"] == tenant]
        return sorted(one["event_id"] for one in rows if not one["piece"])

    def kept(self, shard: int, folder: Path) -> Generation:
        """A copy of the current generation below `folder`."""
        number = current_number(self.data_of(shard)) or 0
        shutil.copytree(
            folder_of(self.data_of(shard), number), folder_of(folder, number), copy_function=os.link
        )
        return Generation.open(folder, number)

    def archived(self, shard: int, tenant: str = TENANT) -> list[int]:
        """Sequences of the events of a tenant in the archive of a shard."""
        subject = f"{ROOT}.events.{tenant}."
        entries = entries_of(self.data_of(shard) / "archive")
        return [e.sequence for e in entries if isinstance(e, EventRecord) and e.subject.startswith(subject)]

    async def lies_in(self) -> int:
        """The shard of the tenant by the map."""
        return (await read_map(self.client.jetstream())).shard_of(TENANT)

    def logs(self) -> str:
        """The ends of the logs of all writers."""
        return "\n".join(stack.log(one)[-3000:] for stack in self.stacks for one in stack.processes)


@asynccontextmanager
async def world_of(url: str, folder: Path, models: Path) -> AsyncIterator[World]:
    """Two shards that were provisioned before any event, with running writers."""
    client = await connect(url, name="test")
    for _ in range(2):  # consumers of new shards come with the second
        await provision(client.jetstream(), ack_wait_seconds=ACK_WAIT_SECONDS, lease_seconds=LEASE_SECONDS)
        await grow(client, 2)
    model = default_model(models)
    with (
        tempfile.TemporaryDirectory() as noted,
        Encoder.load(model) as encoder,
        Deriving(Workers.configured(encoder), model) as deriving,
    ):
        messages = EventMessages(client, deriving, Refusals(Path(noted)), cached_bytes=1 << 20, number=0)
        made, workers_of = World(url, folder, client, models, messages), list[asyncio.Task[None]]()
        try:
            for shard in range(2):
                made.start(shard)
            names = (streams.DOC2QUERY, streams.KG)
            workers_of += [asyncio.create_task(made.acknowledge_for(name)) for name in names]
            yield made
        finally:
            await cancel_all(workers_of)
            for stack in made.stacks:
                stack.end()
            await client.close()


def said(*numbers: int, tenant: str = TENANT) -> Sequence[dict[str, Any]]:
    """Short memories, one for each number."""
    one = {"kind": "memory", "tenant_id": tenant}
    return [one | {"event_id": f"n{n}", "text": f"The spare key number {n} is red."} for n in numbers]
