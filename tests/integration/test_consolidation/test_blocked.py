"""Incompatible derived messages block the writer, which reports it and recovers by itself."""

from __future__ import annotations

import asyncio
import contextlib
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from typing import Any

import pytest
from nats.aio.msg import Msg

from helix_cli.clients.broker_status import broker_status
from helix_cli.stack.readiness import missing
from helix_memory import subjects
from helix_memory.events import EraseEvent
from helix_shared import edges
from helix_shared.artifacts.generation.folders import current_number, folder_of
from helix_shared.artifacts.generation.manifest import Manifest
from helix_shared.broker import streams
from helix_shared.broker.server import free_port
from helix_shared.broker.worker.rederive import Rederived, derivation_responder, requested_sequence
from helix_shared.errors import IncompatibleError

from .conftest import DIMENSIONS, PATIENCE_SECONDS, Stack, row

pytestmark = pytest.mark.integration

MODEL = "model-a"


def body(number: int, **fields: Any) -> bytes:
    """The memories message of event `number`, which has sequence `number + 1`."""
    event, sequence = f"e{number}", number + 1
    rows = [row(event, sequence, f"text {number}", **fields)]
    origin = edges.Origin("memories", "acme", event, "memory", sequence)
    return edges.encode(origin, rows, edges.memories_schema(DIMENSIONS))


@contextlib.asynccontextmanager
async def ingest_of(stack: Stack, model: str) -> AsyncIterator[list[int]]:
    """A fake ingest with `model`; yields the sequences that it derived again."""
    derived: list[int] = []

    async def again(request: Msg) -> Rederived:
        assert request.headers is not None
        if request.headers[subjects.MODEL_HEADER] != model:
            raise IncompatibleError(f"ingest has model {model}")
        derived.append(requested_sequence(request))
        return Rederived(body(derived[-1] - 1, model=model))

    async with derivation_responder(stack.client, "memories", again):
        yield derived


async def problem_of(stack: Stack) -> str:
    """The problem of the writer in `helix status`."""
    return (await broker_status(stack.url, "")).writer.problem


async def until_problem(stack: Stack, text: str) -> None:
    """Wait until `helix status` reports a problem with `text`; empty: no problem."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while text not in (found := await problem_of(stack)) or bool(found) != bool(text):
        assert time.monotonic() < deadline, f"{found!r}: {stack.log(stack.processes[-1])}"
        await asyncio.sleep(0.1)


async def dead_letters(stack: Stack) -> int:
    """Messages in the dead-letter stream."""
    return (await stack.client.jetstream().stream_info(subjects.DLQ_STREAM)).state.messages


def served(stack: Stack) -> Manifest:
    """The manifest of the current generation."""
    number = current_number(stack.data)
    assert number is not None
    return Manifest.read(folder_of(stack.data, number))


async def test_another_model_blocks_the_writer_until_ingest_has_the_right_one_again(stack: Stack) -> None:
    """Five events of model b among others of model a: nothing is lost or dead-lettered."""
    port = free_port()
    await stack.log_events(20)
    stack.start(metrics_port=str(port))
    await stack.derive("e0", 1, [row("e0", 1, "text 0")])
    await stack.until(lambda m: m.applied_sequence == 1)
    for number in range(1, 20):
        model = "model-b" if number in {5, 6, 7, 12, 13} else MODEL
        await stack.publish("memories", number + 1, body(number, model=model), "1")
    await until_problem(stack, "model-b")
    await stack.until(lambda m: m.applied_sequence == 5)
    assert MODEL in await problem_of(stack)
    assert "helix_writer_blocked 1.0" in await asyncio.to_thread(page, port, "metrics")
    assert "blocked" in await asyncio.to_thread(not_ready, stack)
    async with ingest_of(stack, "model-b"):
        await stack.until_logged(stack.processes[-1], "ingest has model model-b")
    erased = await stack.publish_event(EraseEvent(event_id="x", tenant_id="acme", of_session="nobody"))
    await asyncio.sleep(1)
    assert (served(stack).applied_sequence, served(stack).counts.memories) == (5, 5)
    assert await dead_letters(stack) == 0
    async with ingest_of(stack, MODEL) as derived:
        manifest = await stack.until(lambda m: m.applied_sequence == erased)
    assert set(derived) == {6, 7, 8, 13, 14}
    assert (manifest.counts.memories, manifest.model.checksum) == (20, MODEL)
    await stack.until_acknowledged()
    await until_problem(stack, "")
    assert "helix_writer_blocked 0.0" in await asyncio.to_thread(page, port, "metrics")
    assert await dead_letters(stack) == 0


def page(port: int, path: str) -> str:
    """A page of the metrics port, also where its status is an error."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/{path}", timeout=10) as reply:
            return str(reply.read(), "utf-8")
    except urllib.error.HTTPError as error:
        return str(error.read(), "utf-8")


def not_ready(stack: Stack) -> str:
    """What `helix up` would wait for, without a query service."""
    return missing(queries=(), nats_url=stack.url, data_of=lambda _: stack.data, consumers=streams.CONSUMERS)


async def test_a_writer_that_lost_its_lease_does_not_report_what_blocked_it(stack: Stack) -> None:
    """It stands by, and another process may have gone on: its readiness and its metric say nothing of it."""
    port = free_port()
    await stack.log_events(2)
    process = stack.start(metrics_port=str(port))
    await stack.derive("e0", 1, [row("e0", 1, "text 0")])
    await stack.until(lambda m: m.applied_sequence == 1)
    await stack.derive("e1", 2, [row("e1", 2, "text 1", model="model-b")])
    await until_problem(stack, "model-b")
    assert "model-b" in await asyncio.to_thread(page, port, "readyz")
    await stack.client.jetstream().delete_key_value(streams.LEASES)
    await stack.until_logged(process, "standing by")
    assert await asyncio.to_thread(page, port, "readyz") == "ok\n"
    assert "helix_writer_blocked 0.0" in await asyncio.to_thread(page, port, "metrics")


@pytest.mark.long
async def test_a_blocked_writer_recovers_after_restarts(stack: Stack) -> None:
    """The blocked messages are delivered again after a restart, and applied in the end."""
    await stack.log_events(3)
    process = stack.start()
    await stack.derive("e0", 1, [row("e0", 1, "text 0")])
    await stack.until(lambda m: m.applied_sequence == 1)
    await stack.derive("e1", 2, [row("e1", 2, "text 1", model="model-b")])
    await stack.enrich("e1", 2)
    await stack.derive("e2", 3, [row("e2", 3, "text 2")])
    await stack.until_logged(process, "blocked")
    await stack.stopped()
    process = stack.start()
    await stack.until_logged(process, "blocked")
    assert await stack.unacknowledged() == 4
    async with ingest_of(stack, MODEL):
        manifest = await stack.until(lambda m: m.applied_sequence == 3)
    assert (manifest.counts.memories, manifest.counts.entities) == (3, 1)
    await stack.until_acknowledged()
    assert await dead_letters(stack) == 0


async def test_a_worker_of_another_release_blocks_the_writer(stack: Stack) -> None:
    """A newer schema is held, and applied once a worker of this release derives it again."""
    await stack.log_events(2)
    process = stack.start()
    await stack.derive("e0", 1, [row("e0", 1, "text 0")])
    await stack.until(lambda m: m.applied_sequence == 1)
    mine, other = (f'"version": "{int(edges.EDGE_VERSION) + more}"'.encode() for more in (0, 1))
    newer = body(1).replace(mine, other)
    assert newer != body(1)
    await stack.publish("memories", 2, newer, "2")
    await stack.until_logged(process, "run one release everywhere")
    assert served(stack).applied_sequence == 1
    async with ingest_of(stack, MODEL):
        await stack.until(lambda m: m.applied_sequence == 2)
    await stack.until_acknowledged()
    assert await dead_letters(stack) == 0
