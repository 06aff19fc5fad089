"""kg and doc2query as processes, and the messages they read and publish."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from nats.aio.client import Client
from nats.js import api

from helix_memory import subjects
from helix_memory.transport.publisher import Publisher
from helix_shared import edges
from helix_shared.broker.server import NatsServer
from tests import preloaded
from tests.preloaded import Started

SERVICES = {"kg": "links", "doc2query": "expansions"}
NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
TEXT = "We decided to use Postgres for storage because Caroline prefers it."


class Workers:
    """Worker processes of one test."""

    def __init__(self, url: str, logs: Path) -> None:
        self.url = url
        self.logs = logs
        self.processes: list[Started] = []

    def start(self, service: str, **settings: str) -> Started:
        """Start `helix_<service>` with settings from the environment alone."""
        prefix = f"HELIX_{service.upper()}_"
        variables = {"NATS_URL": self.url, "ACK_WAIT_SECONDS": "2"} | settings
        process = preloaded.start(
            f"helix_{service}",
            {k: v for k, v in os.environ.items() if not k.startswith("HELIX_")}
            | {prefix + name: value for name, value in variables.items()},
            self.logs / f"{service}-{len(self.processes)}.log",
        )
        self.processes.append(process)
        return process

    def log(self, process: Started, service: str) -> str:
        """The log of a process so far."""
        return (self.logs / f"{service}-{self.processes.index(process)}.log").read_text()


@pytest.fixture
def workers(nats_server: NatsServer, tmp_path: Path) -> Iterator[Workers]:
    """Start workers; all processes end with the test."""
    started = Workers(nats_server.url, tmp_path)
    yield started
    for process in started.processes:
        process.kill()
        process.wait()


def memory(number: int, *, text: str = TEXT, revision: int | None = None) -> dict[str, Any]:
    """A whole row of the memories edge."""
    return edges.empty_row(edges.memories_schema(4)) | {
        "memory_id": f"{number:032x}",
        "tenant_id": "acme",
        "session_id": "s",
        "type": "episodic",
        "text": text,
        "speaker": "Melanie",
        "event_id": f"e{number}",
        "event_kind": "message",
        "stream_sequence": number,
        "revision_sequence": number if revision is None else revision,
        "char_end": len(text),
        "minhash": bytes(edges.MINHASH_BYTES),
        "token_count": 12,
        "created_at": NOW,
        "occurred_at": NOW,
        "salience": 0.5,
        "confidence": 0.5,
        "priority": 1.0,
        "source_class": "user",
        "speech_act": "statement",
        "about": "",
        "vector": [0.5, 0.5, 0.5, 0.5],
    }


def body_of(number: int, rows: list[dict[str, Any]] | None = None) -> bytes:
    """The memories message of event `number`; by default with one memory."""
    origin = edges.Origin("memories", "acme", f"e{number}", "message", number)
    return edges.encode(origin, [memory(number)] if rows is None else rows, edges.memories_schema(4))


async def publish(client: Client, number: int, content: list[dict[str, Any]] | bytes) -> None:
    """Publish the memories message of event `number`, from its rows or its body, as ingest would."""
    await Publisher(client.jetstream()).publish(
        subjects.derived_subject("memories", "acme"),
        content if isinstance(content, bytes) else body_of(number, content),
        message_id=subjects.derived_message_id("memories", number, "1"),
        headers={subjects.EVENT_SEQUENCE_HEADER: str(number)},
    )


async def collect(
    client: Client, edge: str, *, wanted: int, seconds: float = 30.0
) -> list[tuple[edges.Origin, list[Any]]]:
    """All messages on an edge: until there are `wanted`, and up to a second longer for surplus ones."""
    jetstream = client.jetstream()
    subscription = await jetstream.pull_subscribe(
        subjects.derived_edge(edge),
        stream=subjects.DERIVED_STREAM,
        config=api.ConsumerConfig(ack_policy=api.AckPolicy.EXPLICIT, deliver_policy=api.DeliverPolicy.ALL),
    )
    messages = []
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            fetched = await subscription.fetch(100, timeout=1.0)
        except TimeoutError:
            if len(messages) >= wanted:
                break
            continue
        for message in fetched:
            assert message.headers is not None
            origin, batch = edges.decode(message.data)
            assert str(origin.event_sequence) == message.headers[subjects.EVENT_SEQUENCE_HEADER]
            messages.append((origin, batch.to_pylist()))
            await message.ack()
    return messages


async def until_idle(client: Client, durable: str, *, seconds: float = 30.0) -> None:
    """Wait until a durable has acknowledged everything."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        info = await client.jetstream().consumer_info(subjects.DERIVED_STREAM, durable)
        if not info.num_pending and not info.num_ack_pending:
            return
        await asyncio.sleep(0.1)
    pytest.fail(f"{durable} is not done after {seconds} s")


def of_another_release(body: bytes, version: str = "9") -> bytes:
    """A message as a worker with another edge version would publish it."""
    current = f'"version": "{edges.EDGE_VERSION}"'.encode()
    assert current in body
    return body.replace(current, f'"version": "{version}"'.encode())
