"""kg and doc2query as real processes on a real nats-server: kills, poison, restarts."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js import api

from helix_memory import subjects
from helix_shared import edges
from helix_shared.broker import streams
from helix_shared.broker.publisher import Publisher
from helix_shared.broker.server import NatsServer
from helix_shared.broker.worker.rederive import derivation_responder, request_derivation, requested_sequence
from helix_shared.errors import TemporaryError

pytestmark = pytest.mark.integration

SERVICES = {"kg": "links", "doc2query": "expansions"}
NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
TEXT = "We decided to use Postgres for storage because Caroline prefers it."

Process = subprocess.Popen[bytes]


class Workers:
    """Worker processes of one test; all ended with it."""

    def __init__(self, url: str, logs: Path) -> None:
        self.url = url
        self.logs = logs
        self.processes: list[Process] = []

    def start(self, service: str, **settings: str) -> Process:
        """Start `python -m helix_<service>` with settings from the environment alone."""
        prefix = f"HELIX_{service.upper()}_"
        variables = {"NATS_URL": self.url, "ACK_WAIT_SECONDS": "2"} | settings
        process = subprocess.Popen(
            [sys.executable, "-m", f"helix_{service}"],
            env={k: v for k, v in os.environ.items() if not k.startswith("HELIX_")}
            | {prefix + name: value for name, value in variables.items()},
            stdout=(self.logs / f"{service}-{len(self.processes)}.log").open("wb"),
            stderr=subprocess.STDOUT,
        )
        self.processes.append(process)
        return process

    def log(self, process: Process, service: str) -> str:
        """What a process has logged so far."""
        return (self.logs / f"{service}-{self.processes.index(process)}.log").read_text()


@pytest.fixture
def workers(nats_server: NatsServer, tmp_path: Path) -> Iterator[Workers]:
    """Starts workers, and ends whatever still runs."""
    started = Workers(nats_server.url, tmp_path)
    yield started
    for process in started.processes:
        process.kill()
        process.wait()


def memory(number: int, *, text: str = TEXT, revision: int | None = None) -> dict[str, Any]:
    """A whole row of the memories edge."""
    empty = dict.fromkeys(
        ("user_id", "project_id", "title", "context", "role", "source_uri", "corrects", "model"), ""
    )
    return empty | {
        "memory_id": f"{number:032x}",
        "tenant_id": "acme",
        "session_id": "s",
        "acl": [],
        "shared": False,
        "type": "episodic",
        "text": text,
        "speaker": "Melanie",
        "event_id": f"e{number}",
        "event_kind": "message",
        "stream_sequence": number,
        "revision_sequence": number if revision is None else revision,
        "document_id": "",
        "piece": 0,
        "char_start": 0,
        "char_end": len(text),
        "content_hash": "",
        "minhash": bytes(edges.MINHASH_BYTES),
        "token_count": 12,
        "categories": [],
        "created_at": NOW,
        "occurred_at": NOW,
        "salience": 0.5,
        "confidence": 0.5,
        "event_guessed": False,
        "pinned": False,
        "priority": 1.0,
        "source_class": "user",
        "vector": [0.5, 0.5, 0.5, 0.5],
    }


def body_of(number: int, rows: list[dict[str, Any]] | None = None) -> bytes:
    """The memories message of event `number`, with one memory unless told otherwise."""
    origin = edges.Origin("memories", "acme", f"e{number}", "message", number)
    return edges.encode(origin, [memory(number)] if rows is None else rows, edges.memories_schema(4))


async def publish(client: Client, number: int, given: list[dict[str, Any]] | bytes) -> None:
    """Publish the memories message of event `number`, its rows or its body, as ingest would."""
    await Publisher(client.jetstream()).publish(
        subjects.derived_subject("memories", "acme"),
        given if isinstance(given, bytes) else body_of(number, given),
        message_id=subjects.derived_message_id("memories", number, "1"),
        headers={subjects.EVENT_SEQUENCE_HEADER: str(number)},
    )


async def collect(
    client: Client, edge: str, *, wanted: int, seconds: float = 30.0
) -> list[tuple[edges.Origin, list[Any]]]:
    """Everything on an edge until `wanted` messages are there, and a moment longer for any too many."""
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
    """Wait until a durable has answered everything."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        info = await client.jetstream().consumer_info(subjects.DERIVED_STREAM, durable)
        if not info.num_pending and not info.num_ack_pending:
            return
        await asyncio.sleep(0.1)
    pytest.fail(f"{durable} is not done after {seconds} s")


async def test_killed_copies_leave_one_answer_per_message(nats_client: Client, workers: Workers) -> None:
    """Two copies of each worker, one of each killed on the way: every memories message is answered once."""
    await streams.provision(nats_client.jetstream(), ack_wait_seconds=2.0)
    copies = {service: [workers.start(service), workers.start(service)] for service in SERVICES}
    for number in range(1, 26):
        await publish(nats_client, number, [memory(number)])
    for first, _ in copies.values():
        first.send_signal(signal.SIGKILL)
    for number in range(26, 51):
        await publish(nats_client, number, [memory(number)])
    for service, edge in SERVICES.items():
        answers = await collect(nats_client, edge, wanted=50)
        assert Counter(origin.event_sequence for origin, _ in answers) == Counter(range(1, 51))
        assert all(origin.edge == edge and rows for origin, rows in answers)
        await until_idle(nats_client, service)


async def test_worker_started_late_and_killed_in_the_middle_of_a_batch(
    nats_client: Client, workers: Workers
) -> None:
    """What waited before the start, and what a killed copy held, is answered once."""
    jetstream = nats_client.jetstream()
    await streams.provision(jetstream, ack_wait_seconds=2.0)
    for number in range(1, 301):
        await publish(nats_client, number, [memory(number)])
    victim = workers.start("kg")
    for _ in range(5_000):
        if (await jetstream.consumer_info(subjects.DERIVED_STREAM, streams.KG)).delivered.consumer_seq:
            break
        await asyncio.sleep(0.002)
    victim.send_signal(signal.SIGKILL)
    workers.start("kg")
    answers = await collect(nats_client, "links", wanted=300)
    assert Counter(origin.event_sequence for origin, _ in answers) == Counter(range(1, 301))


async def test_links_and_questions_name_their_memory(nats_client: Client, workers: Workers) -> None:
    """Rows carry the memory's id; a row that only completes a context and an empty event give no rows."""
    for service in SERVICES:
        workers.start(service)
    await publish(nats_client, 1, [memory(1)])
    await publish(nats_client, 2, [memory(2), memory(1, revision=2)])
    await publish(nats_client, 3, [])
    links = {origin.event_sequence: rows for origin, rows in await collect(nats_client, "links", wanted=3)}
    assert {(row["memory_id"], row["name"]) for row in links[1]} == {
        (f"{1:032x}", name) for name in ("postgres", "caroline", "melanie")
    }
    assert {row["memory_id"] for row in links[2]} == {f"{2:032x}"}
    assert links[3] == []
    asked = {
        origin.event_sequence: rows for origin, rows in await collect(nats_client, "expansions", wanted=3)
    }
    assert "what was the decision about storage" in asked[1][0]["expansions"]
    assert [row["memory_id"] for row in asked[2]] == [f"{2:032x}"]
    assert asked[3] == []


@pytest.mark.parametrize("service", SERVICES)
async def test_poison_is_dead_lettered_and_spoils_no_other(
    nats_client: Client, workers: Workers, service: str
) -> None:
    """Bodies that are no batch, or of another tenant, are filed with their reason; others are answered."""
    jetstream = nats_client.jetstream()
    foreign = edges.encode(edges.Origin("memories", "evil", "e", "message", 9), [], edges.memories_schema(4))
    for body in (b"1", b"{", b"\xff\xfe\xff\xff", b"", foreign):
        await jetstream.publish(subjects.derived_subject("memories", "acme"), body)
    await publish(nats_client, 1, [memory(1)])
    process = workers.start(service)
    assert len(await collect(nats_client, SERVICES[service], wanted=1)) == 1
    dead = await jetstream.pull_subscribe(subjects.dlq_subject(service, "acme"), stream=subjects.DLQ_STREAM)
    letters = []
    while len(letters) < 5:
        letters += await dead.fetch(5, timeout=10)
    assert {letter.data for letter in letters} == {b"1", b"{", b"\xff\xfe\xff\xff", b"", foreign}
    assert all(letter.headers and letter.headers[subjects.REASON_HEADER] for letter in letters)
    await until_idle(nats_client, service)
    assert process.poll() is None


def of_another_release(body: bytes, version: str = "9") -> bytes:
    """A message as a worker with another edge version would publish it."""
    current = f'"version": "{edges.EDGE_VERSION}"'.encode()
    assert current in body
    return body.replace(current, f'"version": "{version}"'.encode())


@pytest.mark.parametrize("service", SERVICES)
async def test_a_message_of_another_release_is_held_and_spoils_no_other(
    nats_client: Client, workers: Workers, service: str
) -> None:
    """It is no dead letter and has no empty answer; others are answered meanwhile."""
    jetstream = nats_client.jetstream()
    origin = edges.Origin("memories", "acme", "e9", "message", 9)
    lacking = edges.memories_schema(4).remove(edges.memories_schema(4).get_field_index("text"))
    newer = of_another_release(edges.encode(origin, [], edges.memories_schema(4)))
    for body in (newer, edges.encode(origin, [], lacking)):
        await jetstream.publish(subjects.derived_subject("memories", "acme"), body)
    await publish(nats_client, 1, [memory(1)])
    process = workers.start(service)
    (answered,) = await collect(nats_client, SERVICES[service], wanted=1)
    assert answered[0].event_sequence == 1
    assert (await jetstream.consumer_info(subjects.DERIVED_STREAM, service)).num_ack_pending == 2
    assert (await jetstream.stream_info(subjects.DLQ_STREAM)).state.messages == 0
    assert workers.log(process, service).count("run one release everywhere") >= 2


async def test_a_message_of_an_older_release_is_derived_again_by_ingest(
    nats_client: Client, workers: Workers
) -> None:
    """What the release before has left in the stream is linked and expanded; nobody holds it."""
    asked: list[int] = []

    async def again(request: Msg) -> bytes:
        asked.append(requested_sequence(request))
        return body_of(asked[-1])

    for number in (1, 2):
        older = of_another_release(body_of(number), "1")
        await publish(nats_client, number, older)
    async with derivation_responder(nats_client, "memories", again):
        for service, edge in SERVICES.items():
            workers.start(service)
            answers = await collect(nats_client, edge, wanted=2)
            assert {origin.event_sequence: len(rows) > 0 for origin, rows in answers} == {1: True, 2: True}
            await until_idle(nats_client, service)
    assert sorted(asked) == [1, 1, 2, 2]


@pytest.mark.parametrize("service", SERVICES)
async def test_what_was_derived_can_be_asked_for_again(
    nats_client: Client, workers: Workers, service: str
) -> None:
    """The reply is what was published, and nothing more is published."""
    process = workers.start(service)
    await publish(nats_client, 1, [memory(1)])
    ((origin, rows),) = await collect(nats_client, SERVICES[service], wanted=1)
    body = edges.encode(replace(origin, edge="memories"), [memory(1)], edges.memories_schema(4))
    before = (await nats_client.jetstream().stream_info(subjects.DERIVED_STREAM)).state.last_seq
    again, batch = edges.decode(
        await request_derivation(nats_client, SERVICES[service], sequence=1, body=body)
    )
    assert (again, batch.to_pylist()) == (origin, rows)
    newer = of_another_release(body)
    with pytest.raises(TemporaryError, match="run one release everywhere"):
        await request_derivation(nats_client, SERVICES[service], sequence=1, body=newer)
    assert (await nats_client.jetstream().stream_info(subjects.DERIVED_STREAM)).state.last_seq == before
    assert process.poll() is None


async def test_sigterm_ends_quickly_and_loses_nothing(nats_client: Client, workers: Workers) -> None:
    """Exit code 0 in under five seconds, the running batch answered."""
    process = workers.start("kg")
    for number in range(1, 51):
        await publish(nats_client, number, [memory(number)])
    assert len(await collect(nats_client, "links", wanted=1, seconds=10)) >= 1
    started = time.monotonic()
    process.send_signal(signal.SIGTERM)
    assert await asyncio.to_thread(process.wait, 10) == 0
    assert time.monotonic() - started < 5
    assert len(await collect(nats_client, "links", wanted=50)) == 50


async def test_quiet_log_holds_no_text(nats_client: Client, workers: Workers) -> None:
    """A worker logs its start and its end, not its messages."""
    process = workers.start("kg")
    for number in range(1, 21):
        await publish(nats_client, number, [memory(number)])
    await collect(nats_client, "links", wanted=20)
    process.send_signal(signal.SIGTERM)
    await asyncio.to_thread(process.wait, 10)
    log = workers.log(process, "kg")
    assert "Postgres" not in log
    assert len(log.splitlines()) <= 4


async def test_a_deleted_consumer_ends_the_process(nats_client: Client, workers: Workers) -> None:
    """Without its durable a worker can never receive again; its supervisor must see it end."""
    process = workers.start("kg")
    await publish(nats_client, 1, [memory(1)])
    await collect(nats_client, "links", wanted=1)
    await nats_client.jetstream().delete_consumer(subjects.DERIVED_STREAM, streams.KG)
    assert await asyncio.to_thread(process.wait, 20) == 1
    assert "was deleted" in workers.log(process, "kg")


async def test_a_restarted_server_is_found_again(
    nats_client: Client, nats_server: NatsServer, workers: Workers
) -> None:
    """A worker waits for its server and goes on where it was."""
    process = workers.start("kg")
    await publish(nats_client, 1, [memory(1)])
    await collect(nats_client, "links", wanted=1)
    nats_server.kill()
    nats_server.start()
    await publish(nats_client, 2, [memory(2)])
    answers = await collect(nats_client, "links", wanted=1)
    assert 2 in {origin.event_sequence for origin, _ in answers}
    assert process.poll() is None


@pytest.mark.parametrize("settings", [{"ACK_WAIT_SECONDS": "0"}, {"NAST_URL": "nats://127.0.0.1:1"}])
def test_a_wrong_setting_stops_the_start(workers: Workers, settings: dict[str, str]) -> None:
    """Out of bounds or misspelt: exit code 78 and the name of the setting."""
    process = workers.start("doc2query", **settings)
    assert process.wait(20) == 78
    assert f"HELIX_DOC2QUERY_{next(iter(settings))}" in workers.log(process, "doc2query")


def test_sigterm_while_waiting_for_the_server_ends_it(workers: Workers) -> None:
    """A worker that has nobody to talk to yet still obeys."""
    process = workers.start("kg", NATS_URL="nats://127.0.0.1:1")
    for _ in range(300):
        if "waiting" in workers.log(process, "kg"):
            break
        time.sleep(0.1)
    assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    assert process.wait(5) == 0


async def test_a_consumer_of_another_filter_is_refused(nats_client: Client, workers: Workers) -> None:
    """A durable that would deliver something else stops the start with its filters."""
    jetstream = nats_client.jetstream()
    await jetstream.delete_consumer(subjects.DERIVED_STREAM, streams.KG)
    other = api.ConsumerConfig(durable_name=streams.KG, filter_subject=subjects.derived_edge("links"))
    await jetstream.add_consumer(subjects.DERIVED_STREAM, other)
    process = workers.start("kg")
    assert await asyncio.to_thread(process.wait, 30) == 1
    assert "filters for" in workers.log(process, "kg")
