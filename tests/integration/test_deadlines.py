"""Handlers that never end, processes that hang, late heartbeats: on a real nats-server."""

from __future__ import annotations

import asyncio
import os
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.request import urlopen

import pytest
from nats.aio.client import Client
from nats.js import api

from helix_memory import subjects
from helix_memory.transport.polling import async_poll
from helix_memory.transport.publisher import Publisher
from helix_shared import edges
from helix_shared.broker import streams
from helix_shared.broker.provisioning.provision import provision
from helix_shared.broker.server import NatsServer, free_port
from helix_shared.broker.worker.rederive import request_derivation
from helix_shared.errors import TemporaryError
from tests import preloaded
from tests.preloaded import Started

pytestmark = pytest.mark.integration

WORKER: Final = """
import re, threading, time
from dataclasses import replace
from helix_kg.consumer import DERIVATION
from helix_kg.settings import KgSettings
from helix_shared.broker.worker.derive import create_deriving_worker
from helix_shared.broker.worker.worker import run

def derive_at_leisure(row):
    match row["text"]:
        case "never":
            threading.Event().wait()
        case "holds the GIL":
            re.match("(a+)+$", 64 * "a" + "b")
        case "slow":
            time.sleep(3)
    return DERIVATION.derive(row)

slow = replace(DERIVATION, derive=derive_at_leisure)
run(lambda: create_deriving_worker(slow, KgSettings.load(), service="kg"))
"""
"""kg with a changed handler for four texts."""
PATIENCE_SECONDS: Final = 90.0


class Workers:
    """Worker processes of one test; all ended with it."""

    def __init__(self, url: str, folder: Path) -> None:
        self._url = url
        self._folder = folder
        self._processes: list[Started] = []

    def start(self, **settings: str) -> Started:
        """Start a worker with settings from the environment alone."""
        variables = {"NATS_URL": self._url, "DEADLINE_SECONDS": "0.5"} | settings
        environment = {name: value for name, value in os.environ.items() if not name.startswith("HELIX_")}
        process = preloaded.start(
            "helix_kg",
            environment | {f"HELIX_KG_{name}": value for name, value in variables.items()},
            self._log_of(len(self._processes)),
            code=WORKER,
        )
        self._processes.append(process)
        return process

    def log(self, process: Started) -> str:
        """What a process has written so far."""
        return self._log_of(self._processes.index(process)).read_text()

    def end(self) -> None:
        """Kill all running processes."""
        for process in self._processes:
            process.kill()
            process.wait()

    def _log_of(self, number: int) -> Path:
        return self._folder / f"worker-{number}.log"


@pytest.fixture
def workers(nats_server: NatsServer, tmp_path: Path) -> Iterator[Workers]:
    """Starts workers, and kills the running ones at the end."""
    started = Workers(nats_server.url, tmp_path)
    yield started
    started.end()


def message_of(number: int, text: str) -> bytes:
    """The memories message of event `number`, as ingest makes it, with one memory."""
    schema = edges.memories_schema(4)
    row = edges.empty_row(schema) | {
        "memory_id": f"{number:032x}",
        "text": text,
        "stream_sequence": number,
        "revision_sequence": number,
        "char_end": len(text),
        "token_count": 1,
        "minhash": bytes(edges.MINHASH_BYTES),
        "vector": [0.5, 0.5, 0.5, 0.5],
        "created_at": 0,
        "occurred_at": 0,
    }
    origin = edges.Origin("memories", "acme", f"e{number}", "message", number)
    return edges.encode(origin, [row], schema)


async def publish(client: Client, number: int, text: str) -> None:
    """Publish what ingest publishes for event `number`."""
    await Publisher(client.jetstream()).publish(
        subjects.derived_subject("memories", "acme"),
        message_of(number, text),
        message_id=subjects.derived_message_id("memories", number, "1"),
        headers={subjects.EVENT_SEQUENCE_HEADER: str(number)},
    )


async def answers(client: Client, *, wanted: int) -> dict[int, list[int]]:
    """Number of links by event; waits for `wanted` messages, then one second for more."""
    subscription = await client.jetstream().pull_subscribe(
        subjects.derived_edge("links"),
        stream=subjects.DERIVED_STREAM,
        config=api.ConsumerConfig(ack_policy=api.AckPolicy.EXPLICIT, deliver_policy=api.DeliverPolicy.ALL),
    )
    found: dict[int, list[int]] = {}
    until = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < until:
        try:
            messages = await subscription.fetch(100, timeout=1.0)
        except TimeoutError:
            if len(found) >= wanted:
                break
            continue
        for message in messages:
            origin, batch = edges.decode(message.data)
            found.setdefault(origin.event_sequence, []).append(batch.num_rows)
            await message.ack()
    return found


async def until_idle(client: Client) -> api.ConsumerInfo:
    """Wait until every message is settled."""
    until = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < until:
        info = await client.jetstream().consumer_info(subjects.DERIVED_STREAM, streams.KG)
        if not info.num_pending and not info.num_ack_pending:
            return info
        await asyncio.sleep(0.1)
    pytest.fail(f"kg has not answered everything after {PATIENCE_SECONDS} s")


async def dead_letters(client: Client) -> list[tuple[str, str]]:
    """Sequence and reason of every dead letter."""
    state = (await client.jetstream().stream_info(subjects.DLQ_STREAM)).state
    letters = [
        await client.jetstream().get_msg(subjects.DLQ_STREAM, number)
        for number in range(1, state.messages + 1)
    ]
    return [
        (letter.headers[subjects.SEQUENCE_HEADER], letter.headers[subjects.REASON_HEADER])
        for letter in letters
        if letter.headers
    ]


async def test_a_handler_that_never_ends_is_dead_lettered_and_delays_no_other_message(
    nats_client: Client, workers: Workers
) -> None:
    """Its message fails three times at the deadline; others are processed, stuck threads are counted."""
    port = free_port()
    process = workers.start(METRICS_PORT=str(port))
    texts = dict.fromkeys(range(1, 21), "Caroline met Ann.") | {5: "never"}
    for number, text in texts.items():
        await publish(nats_client, number, text)
    found = await answers(nats_client, wanted=20)
    assert {number for number, rows in found.items() if rows != [0]} == set(texts) - {5}
    await until_idle(nats_client)
    assert await dead_letters(nats_client) == [("5", "handler did not end within its deadline of 0.5 s")]
    assert (await answers(nats_client, wanted=20))[5] == [0], (
        "consolidation waits for an answer, if an empty one"
    )
    await _until_metric(port, 'helix_worker_stuck_threads{service="kg"} 3.0')
    assert process.poll() is None


async def test_a_worker_whose_handlers_do_not_come_back_ends_itself(
    nats_client: Client, workers: Workers
) -> None:
    """Exit code 1 and the reason in the log; the next process continues."""
    for number, text in enumerate(("never", "never", "Caroline met Ann."), 1):
        await publish(nats_client, number, text)
    process = workers.start()
    assert await asyncio.to_thread(process.wait, PATIENCE_SECONDS) == 1
    assert "threads are stuck in handlers that passed their deadline" in workers.log(process)
    workers.start()
    found = await answers(nats_client, wanted=3)
    assert {number: len(rows) for number, rows in found.items()} == {1: 1, 2: 1, 3: 1}
    await until_idle(nats_client)
    assert Counter(sequence for sequence, _ in await dead_letters(nats_client)) == {"1": 1, "2": 1}


async def _in_work(client: Client) -> int:
    """Messages of kg that are delivered and not answered."""
    info = await client.jetstream().consumer_info(subjects.DERIVED_STREAM, streams.KG)
    return info.num_ack_pending or 0


@pytest.mark.long
async def test_sigterm_ends_a_worker_in_time_although_a_handler_does_not_come_back(
    nats_client: Client, workers: Workers
) -> None:
    """Within 15 s and with code 0; what it had in work is delivered again, and answered once."""
    await provision(nats_client.jetstream(), ack_wait_seconds=3)
    await publish(nats_client, 1, "never")
    process = workers.start(DEADLINE_SECONDS="600", ACK_WAIT_SECONDS="3")
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not await _in_work(nats_client):  # noqa: ASYNC110  a consumer has no event
            await asyncio.sleep(0.05)
    process.terminate()
    began = time.monotonic()
    assert await asyncio.to_thread(process.wait, PATIENCE_SECONDS) == 0
    assert time.monotonic() - began < 15
    workers.start(ACK_WAIT_SECONDS="3")
    await publish(nats_client, 2, "Caroline met Ann.")
    found = await answers(nats_client, wanted=2)
    assert {number: len(rows) for number, rows in found.items()} == {1: 1, 2: 1}


async def test_a_request_has_a_deadline_too(nats_client: Client, workers: Workers) -> None:
    """The requester gets the reason, and the next request is processed."""
    workers.start()
    await publish(nats_client, 1, "Caroline met Ann.")
    await answers(nats_client, wanted=1)
    with pytest.raises(TemporaryError, match=r"did not end within its deadline of 0\.5 s"):
        await request_derivation(nats_client, "links", sequence=2, memories=message_of(2, "never"))
    body = message_of(1, "Caroline met Ann.")
    _, links = edges.decode((await request_derivation(nats_client, "links", sequence=1, memories=body)).body)
    assert links.num_rows > 0


async def test_a_handler_that_holds_the_gil_ends_the_process(nats_client: Client, workers: Workers) -> None:
    """The watchdog writes the stacks of all threads and ends the process."""
    await publish(nats_client, 1, "holds the GIL")
    process = workers.start(HANG_SECONDS="3")
    assert await asyncio.to_thread(process.wait, PATIENCE_SECONDS) == 1
    log = workers.log(process)
    assert "Timeout" in log
    assert "in derive_at_leisure" in log


async def test_heartbeats_that_come_late_change_nothing(nats_client: Client, workers: Workers) -> None:
    """Other copies receive the message and process it, too; the stream stores one result."""
    jetstream = nats_client.jetstream()
    await provision(jetstream, ack_wait_seconds=60)
    for _ in range(2):
        workers.start(ACK_WAIT_SECONDS="60", DEADLINE_SECONDS="60")
    async for _ in async_poll(PATIENCE_SECONDS):
        if (await jetstream.consumer_info(subjects.DERIVED_STREAM, streams.KG)).num_waiting == 2:
            break
    # they read the ack wait at their start, so after one second each message is delivered to another copy
    await provision(jetstream, ack_wait_seconds=1.0)
    for number, text in enumerate(("slow", "Caroline met Ann.", "slow"), 1):
        await publish(nats_client, number, text)
    info = await until_idle(nats_client)
    assert info.delivered.consumer_seq > 3, "nothing was delivered twice, so this has shown nothing"
    found = await answers(nats_client, wanted=3)
    assert {number: len(rows) for number, rows in found.items()} == {1: 1, 2: 1, 3: 1}
    assert await dead_letters(nats_client) == []


async def _until_metric(port: int, line: str) -> None:
    def metrics() -> str:
        with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as reply:
            return str(reply.read().decode())

    until = time.monotonic() + PATIENCE_SECONDS
    while line not in (read := await asyncio.to_thread(metrics)):
        assert time.monotonic() < until, read
        await asyncio.sleep(0.2)
