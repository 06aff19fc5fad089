"""A NATS server, a data folder, and writers as processes of their own."""

from __future__ import annotations

import asyncio
import hashlib
import os
import signal
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nats.aio.client import Client

from helix_memory import events, subjects
from helix_memory.transport.connection import connect
from helix_memory.transport.publisher import Publisher
from helix_shared import edges
from helix_shared.artifacts.generation.folders import current_number, folder_of
from helix_shared.artifacts.generation.manifest import Manifest
from helix_shared.artifacts.vectors.reader import VectorReader
from helix_shared.broker import streams
from helix_shared.broker.provisioning.provision import provision
from helix_shared.broker.server import NatsServer
from helix_shared.identity import content_hash, memory_id
from tests import preloaded
from tests.preloaded import Started

DIMENSIONS = 8
NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
ACK_WAIT_SECONDS = 3.0
LEASE_SECONDS = 5.0
"""Half of the usual ones: tests that kill the holder of a lease wait for them."""
PATIENCE_SECONDS = 90
DRAIN_SECONDS = 15.0
PUBLISH_SECONDS = 2.0
"""A message that is not acknowledged in this time is repeated, as after a kill of the server."""


def row(event: str, sequence: int, text: str, **fields: Any) -> dict[str, Any]:
    """One row of the memories edge with a random unit vector; `fields` override."""
    seed = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=4).digest())
    vector = np.random.default_rng(seed).normal(size=DIMENSIONS)
    base: dict[str, Any] = {
        "memory_id": memory_id("acme", event, fields.get("piece", 0)),
        "tenant_id": "acme",
        "type": "semantic",
        "text": text,
        "role": "user",
        "event_id": event,
        "event_kind": "memory",
        "stream_sequence": sequence,
        "revision_sequence": sequence,
        "char_end": len(text),
        "content_hash": content_hash(text),
        "minhash": np.random.default_rng(seed).bytes(edges.MINHASH_BYTES),
        "token_count": 3,
        "created_at": NOON,
        "occurred_at": NOON,
        "salience": 0.5,
        "confidence": 0.5,
        "priority": 1.0,
        "source_class": "user",
        "speech_act": "statement",
        "vector": list(vector / np.linalg.norm(vector)),
        "model": "model-a",
    }
    return edges.empty_row(edges.memories_schema(DIMENSIONS)) | base | fields


@dataclass
class Stack:
    """A NATS server, a data folder, and the writers started on them."""

    url: str
    data: Path
    client: Client
    processes: list[Started] = field(default_factory=list)

    def start(self, *, code: str = "", **settings: str) -> Started:
        """Start one consolidation process; `code` replaces its module."""
        values = {
            "nats_url": self.url,
            "data_dir": str(self.data),
            "models_dir": str(self.data.parent / "models"),
            "ack_wait_seconds": str(ACK_WAIT_SECONDS),
            "publish_interval_seconds": "0.2",
            "gap_seconds": "0.5",
            **settings,
        }
        environment = {f"HELIX_CONSOLIDATION_{name.upper()}": value for name, value in values.items()}
        log = self.data.parent / f"writer-{len(self.processes)}.log"
        process = preloaded.start("helix_consolidation", os.environ | environment, log, code=code)
        self.processes.append(process)
        return process

    def log(self, process: Started) -> str:
        """The log of a process so far."""
        return (self.data.parent / f"writer-{self.processes.index(process)}.log").read_text()

    async def until_logged(self, process: Started, text: str) -> None:
        """Wait until a process has logged `text`."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while text not in self.log(process):
            assert time.monotonic() < deadline, self.log(process)
            await asyncio.sleep(0.05)

    async def stopped(self) -> None:
        """Terminate the newest process, as a supervisor does."""
        self.processes[-1].terminate()
        assert await asyncio.to_thread(self.processes[-1].wait, PATIENCE_SECONDS) == 0

    def end(self) -> None:
        """Kill every process."""
        for process in self.processes:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
            process.wait()

    async def derive(
        self, event: str, sequence: int, rows: list[dict[str, Any]], *, document: str = "", version: str = "1"
    ) -> None:
        """Publish the memories message of an event."""
        origin = edges.Origin("memories", "acme", event, "memory", sequence, document)
        body = edges.encode(origin, rows, edges.memories_schema(DIMENSIONS))
        await self.publish("memories", sequence, body, version)

    async def enrich(self, event: str, sequence: int) -> None:
        """Publish one expansion and one link of an event's first memory."""
        target = memory_id("acme", event, 0)
        questions = [{"memory_id": target, "expansions": ["which one?"]}]
        link = {
            "memory_id": target,
            "edge": "MENTIONS",
            "kind": "name",
            "name": "n",
            "surface": "N",
            "weight": 1.0,
        }
        for edge, rows, schema in (
            ("expansions", questions, edges.expansions_schema()),
            ("links", [link], edges.links_schema()),
        ):
            origin = edges.Origin(edge, "acme", event, "memory", sequence)
            await self.publish(edge, sequence, edges.encode(origin, rows, schema), "1")

    async def log_events(self, count: int) -> None:
        """Fill HELIX_EVENTS, so that derived messages refer to real events."""
        publisher = Publisher(self.client.jetstream())
        for number in range(count):
            event = events.MemoryEvent(event_id=f"e{number}", tenant_id="acme", text="text")
            await publisher.publish_event(event)

    async def publish_event(self, event: events.Event) -> int:
        """Publish a lifecycle event."""
        return (await Publisher(self.client.jetstream()).publish_event(event)).sequence

    async def until(self, holds: Callable[[Manifest], bool]) -> Manifest:
        """The first current generation for which `holds`."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        seen = None
        while time.monotonic() < deadline:
            number = current_number(self.data)
            if number is not None:
                seen = Manifest.read(folder_of(self.data, number))
                if holds(seen):
                    return seen
            await asyncio.sleep(0.05)
        logs = "\n".join(map(self.log, self.processes))
        pytest.fail(f"no such generation; last: {seen!r}\n{logs[-4000:]}")

    def rows(self) -> list[dict[str, Any]]:
        """All rows of the current generation."""
        number = current_number(self.data)
        assert number is not None
        reader = VectorReader(folder_of(self.data, number))
        return reader.take(range(10_000)).drop_columns(["vector"]).to_pylist()  # type: ignore[arg-type]

    async def unacknowledged(self) -> int:
        """Number of messages that the writer has not acknowledged."""
        left = 0
        for stream, durable in (
            (subjects.DERIVED_STREAM, streams.CONSOLIDATION_DERIVED),
            (subjects.EVENTS_STREAM, streams.CONSOLIDATION_LIFECYCLE),
        ):
            info = await self.client.jetstream().consumer_info(stream, durable)
            left += (info.num_ack_pending or 0) + (info.num_pending or 0)
            if stream == subjects.DERIVED_STREAM and info.delivered is not None:
                # the consumer's count of pending messages may come later than the stream's acknowledgement
                last = (await self.client.jetstream().stream_info(stream)).state.last_seq
                left += max(0, last - info.delivered.stream_seq)
        return left

    async def until_acknowledged(self) -> None:
        """Wait until every message is acknowledged."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while await self.unacknowledged():
            assert time.monotonic() < deadline, "messages stay unacknowledged"
            await asyncio.sleep(0.05)

    async def publish(self, edge: str, sequence: int, body: bytes, version: str) -> None:
        """Publish a derived message as a worker would."""
        await Publisher(self.client.jetstream(), timeout_seconds=PUBLISH_SECONDS).publish(
            subjects.derived_subject(edge, "acme"),
            body,
            message_id=subjects.derived_message_id(edge, sequence, version),
            headers={subjects.EVENT_SEQUENCE_HEADER: str(sequence)},
        )


@pytest.fixture
def server(tmp_path: Path) -> Iterator[NatsServer]:
    """A real server."""
    with NatsServer(tmp_path / "nats") as running:
        yield running


@pytest.fixture
async def stack(server: NatsServer, tmp_path: Path) -> AsyncIterator[Stack]:
    """A provisioned server and a data folder; every process ends with the test."""
    client = await connect(server.url, name="test")
    await provision(client.jetstream(), ack_wait_seconds=ACK_WAIT_SECONDS, lease_seconds=LEASE_SECONDS)
    made = Stack(server.url, tmp_path / "data", client)
    yield made
    made.end()
    await client.close()
