"""kg and doc2query as real processes on a real nats-server: kills, invalid messages, restarts."""

from __future__ import annotations

import asyncio
import signal
import time
from collections import Counter

import pytest
from nats.aio.client import Client
from nats.js import api

from helix_memory import subjects
from helix_shared import edges
from helix_shared.broker import streams
from helix_shared.broker.server import NatsServer

from .messages import SERVICES, Workers, collect, memory, publish, until_idle

pytestmark = pytest.mark.integration


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
