from __future__ import annotations

import asyncio
import hashlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nats.aio.client import Client

from helix import events, subjects
from helix.events import EraseEvent, FeedbackEvent, ForgetEvent
from helix_consolidation.lease import KEY
from helix_shared import edges
from helix_shared.artifacts import generation
from helix_shared.artifacts.manifest import Manifest
from helix_shared.artifacts.vector_reader import VectorReader
from helix_shared.broker import streams
from helix_shared.broker.connection import connect
from helix_shared.broker.publisher import Publisher
from helix_shared.broker.server import NatsServer
from helix_shared.identity import content_hash, memory_id

pytestmark = pytest.mark.integration

DIMENSIONS = 8
NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
ACK_WAIT_SECONDS = 3.0
PATIENCE_SECONDS = 90
DRAIN_SECONDS = 15.0


def row(event: str, sequence: int, text: str, **fields: Any) -> dict[str, Any]:
    """One row of the memories edge with a random unit vector; `fields` override."""
    seed = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=4).digest())
    vector = np.random.default_rng(seed).normal(size=DIMENSIONS)
    base: dict[str, Any] = {
        "memory_id": memory_id("acme", event, fields.get("piece", 0)),
        "tenant_id": "acme",
        **dict.fromkeys(("user_id", "project_id", "session_id", "title", "context", "speaker"), ""),
        **dict.fromkeys(("document_id", "source_uri", "corrects"), ""),
        "acl": [],
        "shared": False,
        "type": "semantic",
        "text": text,
        "role": "user",
        "event_id": event,
        "event_kind": "memory",
        "stream_sequence": sequence,
        "revision_sequence": sequence,
        "piece": 0,
        "char_start": 0,
        "char_end": len(text),
        "content_hash": content_hash(text),
        "minhash": np.random.default_rng(seed).bytes(edges.MINHASH_BYTES),
        "token_count": 3,
        "categories": [],
        "created_at": NOON,
        "occurred_at": NOON,
        **dict.fromkeys(("valid_from", "valid_to", "expires_at", "event_start", "event_end")),
        "salience": 0.5,
        "confidence": 0.5,
        "pinned": False,
        "priority": 1.0,
        "trust": "user",
        "vector": list(vector / np.linalg.norm(vector)),
        "model": "model-a",
    }
    return base | fields


@dataclass
class Stack:
    """A NATS server, a data folder, and the writers started on them."""

    url: str
    data: Path
    client: Client
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self, **settings: str) -> subprocess.Popen[bytes]:
        """Start one consolidation process."""
        given = {
            "nats_url": self.url,
            "data_dir": str(self.data),
            "ack_wait_seconds": str(ACK_WAIT_SECONDS),
            "publish_interval_seconds": "0.2",
            "gap_seconds": "0.5",
            **settings,
        }
        environment = {f"HELIX_CONSOLIDATION_{name.upper()}": value for name, value in given.items()}
        log = (self.data.parent / f"writer-{len(self.processes)}.log").open("wb")
        process = subprocess.Popen(
            [sys.executable, "-m", "helix_consolidation"],
            env=os.environ | environment,
            stderr=log,
            stdout=log,
        )
        log.close()
        self.processes.append(process)
        return process

    def log(self, process: subprocess.Popen[bytes]) -> str:
        """What a process wrote so far."""
        return (self.data.parent / f"writer-{self.processes.index(process)}.log").read_text()

    async def until_logged(self, process: subprocess.Popen[bytes], text: str) -> None:
        """Wait until a process wrote `text`."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while text not in self.log(process):
            assert time.monotonic() < deadline, self.log(process)
            await asyncio.sleep(0.05)

    async def derive(
        self, event: str, sequence: int, rows: list[dict[str, Any]], *, document: str = "", version: str = "1"
    ) -> None:
        """Publish the memories message of an event."""
        origin = edges.Origin("memories", "acme", event, "memory", sequence, document)
        body = edges.encode(origin, rows, edges.memories_schema(DIMENSIONS))
        await self._publish("memories", sequence, body, version)

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
            await self._publish(edge, sequence, edges.encode(origin, rows, schema), "1")

    async def log_events(self, count: int) -> None:
        """Fill HELIX_EVENTS, so that sequences of derived messages stand for real events."""
        publisher = Publisher(self.client.jetstream())
        for number in range(count):
            event = events.MemoryEvent(event_id=f"e{number}", tenant_id="acme", text="text")
            await publisher.publish_event(event)

    async def tell(self, event: events.Event) -> int:
        """Publish a lifecycle event."""
        return (await Publisher(self.client.jetstream()).publish_event(event)).sequence

    async def until(self, holds: Callable[[Manifest], bool]) -> Manifest:
        """The first current generation for which `holds`."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        seen = None
        while time.monotonic() < deadline:
            number = generation.current(self.data)
            if number is not None:
                seen = Manifest.read(generation.folder_of(self.data, number))
                if holds(seen):
                    return seen
            await asyncio.sleep(0.05)
        logs = "\n".join(map(self.log, self.processes))
        pytest.fail(f"no such generation; last: {seen!r}\n{logs[-4000:]}")

    def rows(self) -> list[dict[str, Any]]:
        """All rows of the current generation."""
        number = generation.current(self.data)
        assert number is not None
        reader = VectorReader(generation.folder_of(self.data, number))
        return reader.take(range(10_000)).drop_columns(["vector"]).to_pylist()  # type: ignore[arg-type]

    async def unanswered(self) -> int:
        """Messages the writer has not answered yet."""
        left = 0
        for stream, durable in (
            (subjects.DERIVED_STREAM, streams.CONSOLIDATION_DERIVED),
            (subjects.EVENTS_STREAM, streams.CONSOLIDATION_LIFECYCLE),
        ):
            info = await self.client.jetstream().consumer_info(stream, durable)
            left += (info.num_ack_pending or 0) + (info.num_pending or 0)
        return left

    async def until_answered(self) -> None:
        """Wait until nothing is left to answer."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while await self.unanswered():
            assert time.monotonic() < deadline, "messages stay unanswered"
            await asyncio.sleep(0.05)

    async def _publish(self, edge: str, sequence: int, body: bytes, version: str) -> None:
        await Publisher(self.client.jetstream()).publish(
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
    await streams.provision(client.jetstream(), ack_wait_seconds=ACK_WAIT_SECONDS)
    made = Stack(server.url, tmp_path / "data", client)
    yield made
    for process in made.processes:
        if process.poll() is None:
            process.send_signal(signal.SIGCONT)
            process.kill()
        process.wait()
    await client.close()


async def test_derived_messages_become_a_generation(stack: Stack) -> None:
    """Ten memories with enrichment: all stores agree, everything is acknowledged afterwards."""
    await stack.log_events(10)
    stack.start()
    for number in range(10):
        await stack.derive(f"e{number}", number + 1, [row(f"e{number}", number + 1, f"text {number}")])
        await stack.enrich(f"e{number}", number + 1)
    manifest = await stack.until(lambda m: m.derived_sequence == 30)
    counts = manifest.counts
    assert (counts.memories, counts.hidden, counts.lexicon, counts.signals) == (10, 0, 10, 10)
    assert (counts.entities, counts.edges) == (1, 20)
    assert (manifest.applied_sequence, manifest.stream.last_sequence) == (10, 10)
    assert generation.verify(generation.folder_of(stack.data, manifest.generation), known=set()) == manifest
    await stack.until_answered()


async def test_a_killed_writer_is_made_up_for(stack: Stack) -> None:
    """SIGKILL in the middle, twice: afterwards the same rows, none twice, none missing."""
    small = {"batch_messages": "5", "publish_interval_seconds": "0"}
    await stack.log_events(200)
    for number in range(200):
        await stack.derive(f"e{number}", number + 1, [row(f"e{number}", number + 1, f"text {number}")])
    applied = 0
    for _ in range(2):
        process = stack.start(**small)
        manifest = await stack.until(lambda m, before=applied: m.counts.memories > before)
        process.kill()
        applied = manifest.counts.memories
        assert applied < 200
    stack.start()
    manifest = await stack.until(lambda m: m.applied_sequence == 200)
    ids = [r["memory_id"] for r in stack.rows()]
    assert sorted(ids) == sorted(memory_id("acme", f"e{number}", 0) for number in range(200))
    assert manifest.counts.lexicon == 200
    await stack.until_answered()


async def test_what_a_killed_writer_held_comes_at_once(stack: Stack) -> None:
    """The next writer does not wait for the ack wait, which is longer than this test's patience."""
    await streams.provision(stack.client.jetstream(), ack_wait_seconds=600)
    await stack.log_events(21)
    slow = {"publish_interval_seconds": "600", "ack_wait_seconds": "600"}
    process = stack.start(**slow)
    await stack.derive("e0", 1, [row("e0", 1, "one")])
    await stack.until(lambda m: m.applied_sequence == 1)
    for number in range(1, 21):
        await stack.derive(f"e{number}", number + 1, [row(f"e{number}", number + 1, f"text {number}")])
    await asyncio.sleep(1)
    process.kill()
    stack.start(ack_wait_seconds="600")
    manifest = await stack.until(lambda m: m.applied_sequence == 21)
    assert manifest.counts.memories == 21


async def test_a_second_writer_waits_and_takes_over(stack: Stack) -> None:
    """One writes at a time; when it is killed the other goes on, with a later epoch."""
    await stack.log_events(2)
    first = stack.start()
    await stack.derive("e0", 1, [row("e0", 1, "one")])
    before = await stack.until(lambda m: m.applied_sequence == 1)
    second = stack.start()
    await stack.until_logged(second, "standing by")
    await asyncio.sleep(2)
    assert "loaded" not in stack.log(second)
    first.kill()
    await stack.derive("e1", 2, [row("e1", 2, "two")])
    after = await stack.until(lambda m: m.applied_sequence == 2)
    assert after.epoch > before.epoch
    assert after.generation > before.generation
    assert len(stack.rows()) == 2


async def test_a_derived_message_published_twice_changes_nothing(stack: Stack) -> None:
    """Another run of the worker under another id: same rows."""
    await stack.log_events(1)
    stack.start()
    await stack.derive("e0", 1, [row("e0", 1, "one")])
    await stack.until(lambda m: m.applied_sequence == 1)
    before = stack.rows()
    await stack.derive("e0", 1, [row("e0", 1, "one")], version="2")
    await stack.until(lambda m: m.derived_sequence == 2)
    assert stack.rows() == before


async def test_lifecycle_events_show_in_the_next_generation(stack: Stack) -> None:
    """Correct, replace, forget, restore, feedback and erase, as a reader sees them."""
    await stack.log_events(6)
    stack.start()
    ids = [memory_id("acme", f"e{number}", 0) for number in range(6)]
    await stack.derive("e0", 1, [row("e0", 1, "port 8080")])
    await stack.derive("e1", 2, [row("e1", 2, "port 9090", corrects=ids[0])])
    await stack.derive("e2", 3, [row("e2", 3, "old", document_id="d")], document="d")
    await stack.derive("e3", 4, [row("e3", 4, "new", document_id="d")], document="d")
    await stack.derive("e4", 5, [row("e4", 5, "of a session", session_id="s")])
    await stack.derive("e5", 6, [row("e5", 6, "of a user", user_id="ann")])
    await stack.until(lambda m: m.applied_sequence == 6)
    hidden = {r["memory_id"] for r in stack.rows() if r["hidden"]}
    assert hidden == {ids[0], ids[2]}

    await stack.tell(ForgetEvent(event_id="f", tenant_id="acme", of_session="s"))
    await stack.until(lambda m: m.applied_sequence == 7 and m.counts.hidden == 3)
    await stack.tell(ForgetEvent(event_id="r", tenant_id="acme", of_session="s", restore=True))
    await stack.until(lambda m: m.applied_sequence == 8 and m.counts.hidden == 2)
    await stack.tell(FeedbackEvent(event_id="b", tenant_id="acme", helpful=[ids[1]]))
    await stack.until(lambda m: m.applied_sequence == 9)
    assert {r["memory_id"]: r["helpful_count"] for r in stack.rows()}[ids[1]] == 1
    last = await stack.tell(EraseEvent(event_id="x", tenant_id="acme", of_user="ann"))
    manifest = await stack.until(lambda m: m.applied_sequence == last and m.counts.memories == 5)
    assert (manifest.counts.signals, manifest.counts.lexicon) == (6, 3)
    assert ids[5] not in {r["memory_id"] for r in stack.rows()}


async def test_a_lost_lease_stops_publishing(stack: Stack) -> None:
    """Someone else has the lease: the process ends with 1, and nothing more is published."""
    await stack.log_events(2)
    process = stack.start()
    await stack.derive("e0", 1, [row("e0", 1, "one")])
    before = await stack.until(lambda m: m.applied_sequence == 1)
    bucket = await stack.client.jetstream().key_value(streams.LEASES)
    await bucket.put(KEY, b'{"holder": "another", "lock": "elsewhere"}')
    await stack.derive("e1", 2, [row("e1", 2, "two")])
    assert await asyncio.to_thread(process.wait, PATIENCE_SECONDS) == 1
    assert generation.current(stack.data) == before.generation


async def test_a_writer_that_slept_past_its_lease_publishes_nothing(stack: Stack) -> None:
    """Stopped for longer than the time to live, another took the lease: it ends without a generation."""
    await stack.log_events(2)
    process = stack.start()
    await stack.derive("e0", 1, [row("e0", 1, "one")])
    before = await stack.until(lambda m: m.applied_sequence == 1)
    process.send_signal(signal.SIGSTOP)
    bucket = await stack.client.jetstream().key_value(streams.LEASES)
    await bucket.put(KEY, b'{"holder": "another", "lock": "elsewhere"}')
    await stack.derive("e1", 2, [row("e1", 2, "two")])
    await asyncio.sleep(streams.LEASE_TTL_SECONDS)
    process.send_signal(signal.SIGCONT)
    assert await asyncio.to_thread(process.wait, PATIENCE_SECONDS) == 1
    assert generation.current(stack.data) == before.generation


async def test_sigterm_publishes_what_was_applied(stack: Stack) -> None:
    """The process ends with 0, and the next one has nothing to repeat."""
    await stack.log_events(21)
    process = stack.start(publish_interval_seconds="600")
    await stack.derive("e0", 1, [row("e0", 1, "one")])
    await stack.until(lambda m: m.applied_sequence == 1)
    for number in range(20):
        await stack.derive(f"x{number}", 2 + number, [row(f"x{number}", 2 + number, f"text {number}")])
    await asyncio.sleep(1)
    assert await stack.unanswered() == 20
    process.terminate()
    assert await asyncio.to_thread(process.wait, DRAIN_SECONDS) == 0
    assert len(stack.rows()) == 21
    assert await stack.unanswered() == 0


async def test_a_hole_in_the_event_stream_does_not_stop_the_count(stack: Stack) -> None:
    """Event 2 was deleted from the stream: what is in counts past it."""
    await stack.log_events(3)
    await stack.client.jetstream().delete_msg(subjects.EVENTS_STREAM, 2)
    stack.start()
    for number in (0, 2):
        await stack.derive(f"e{number}", number + 1, [row(f"e{number}", number + 1, f"text {number}")])
    manifest = await stack.until(lambda m: m.applied_sequence == 3)
    assert manifest.counts.memories == 2


async def test_an_event_that_is_only_late_is_waited_for(stack: Stack) -> None:
    """Event 2 is in the stream and not derived yet: the count stops before it."""
    await stack.log_events(3)
    stack.start()
    for number in (0, 2):
        await stack.derive(f"e{number}", number + 1, [row(f"e{number}", number + 1, f"text {number}")])
    await stack.until(lambda m: m.counts.memories == 2)
    await asyncio.sleep(2)
    number = generation.current(stack.data)
    assert number is not None
    assert Manifest.read(generation.folder_of(stack.data, number)).applied_sequence == 1
    await stack.derive("e1", 2, [])
    await stack.until(lambda m: m.applied_sequence == 3)


async def test_a_foreign_model_ends_in_the_dead_letters(stack: Stack) -> None:
    """The dead letter names both models; the generation keeps its own."""
    await stack.log_events(2)
    stack.start()
    await stack.derive("e0", 1, [row("e0", 1, "one")])
    await stack.until(lambda m: m.applied_sequence == 1)
    await stack.derive("e1", 2, [row("e1", 2, "two", model="model-b")])
    manifest = await stack.until(lambda m: m.applied_sequence == 2)
    await stack.until_answered()
    assert (manifest.model.checksum, manifest.counts.memories) == ("model-a", 1)
    letter = await stack.client.jetstream().get_last_msg(
        subjects.DLQ_STREAM, "helix.v1.dlq.consolidation.acme"
    )
    reason = (letter.headers or {})[subjects.REASON_HEADER]
    assert "model-a" in reason
    assert "model-b" in reason


async def test_an_empty_folder_refuses_a_stream_that_was_acknowledged(stack: Stack, tmp_path: Path) -> None:
    """What was acknowledged to another data folder would be missing here without a word."""
    await stack.log_events(1)
    process = stack.start()
    await stack.derive("e0", 1, [row("e0", 1, "one")])
    await stack.until_answered()
    process.terminate()
    await asyncio.to_thread(process.wait, PATIENCE_SECONDS)
    stranger = stack.start(data_dir=str(tmp_path / "empty"))
    assert await asyncio.to_thread(stranger.wait, PATIENCE_SECONDS) == 1
    assert "were acknowledged" in stack.log(stranger)
