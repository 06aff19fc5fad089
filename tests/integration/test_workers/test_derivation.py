"""kg and doc2query derive one message from each memories message, also under kills."""

from __future__ import annotations

import asyncio
import signal
from collections import Counter
from dataclasses import replace

import pytest
from nats.aio.client import Client

from helix_memory import subjects
from helix_shared import edges
from helix_shared.broker import streams
from helix_shared.broker.provisioning.provision import provision
from helix_shared.broker.worker.rederive import request_derivation
from helix_shared.errors import TemporaryError

from .conftest import (
    SERVICES,
    Workers,
    collect,
    memory,
    of_another_release,
    publish,
    until_idle,
)

pytestmark = pytest.mark.integration


async def test_killed_processes_leave_one_result_per_message(nats_client: Client, workers: Workers) -> None:
    """Two processes of each worker, one of each killed: every memories message has one result."""
    await provision(nats_client.jetstream(), ack_wait_seconds=2.0)
    copies = {service: [workers.start(service), workers.start(service)] for service in SERVICES}
    for number in range(1, 26):
        await publish(nats_client, number, [memory(number)])
    for first, _ in copies.values():
        first.send_signal(signal.SIGKILL)
    for number in range(26, 51):
        await publish(nats_client, number, [memory(number)])
    for service, edge in SERVICES.items():
        results = await collect(nats_client, edge, wanted=50)
        assert Counter(origin.event_sequence for origin, _ in results) == Counter(range(1, 51))
        assert all(origin.edge == edge and rows for origin, rows in results)
        await until_idle(nats_client, service)


async def test_worker_started_late_and_killed_in_the_middle_of_a_batch(
    nats_client: Client, workers: Workers
) -> None:
    """Messages from before the start, and those held by a killed process, have one result each."""
    jetstream = nats_client.jetstream()
    await provision(jetstream, ack_wait_seconds=2.0)
    for number in range(1, 301):
        await publish(nats_client, number, [memory(number)])
    victim = workers.start("kg")
    for _ in range(5_000):
        if (await jetstream.consumer_info(subjects.DERIVED_STREAM, streams.KG)).delivered.consumer_seq:
            break
        await asyncio.sleep(0.002)
    victim.send_signal(signal.SIGKILL)
    workers.start("kg")
    results = await collect(nats_client, "links", wanted=300)
    assert Counter(origin.event_sequence for origin, _ in results) == Counter(range(1, 301))


async def test_links_and_questions_name_their_memory(nats_client: Client, workers: Workers) -> None:
    """Rows carry the memory's id; a row that only completes a context and an empty event give no rows."""
    for service in SERVICES:
        workers.start(service)
    await publish(nats_client, 1, [memory(1)])
    await publish(nats_client, 2, [memory(2), memory(1, revision=2)])
    await publish(nats_client, 3, [])
    await publish(nats_client, 4, [memory(4) | {"text": "Greta Lund works for Oakline Group."}])
    links = {origin.event_sequence: rows for origin, rows in await collect(nats_client, "links", wanted=4)}
    assert {(row["memory_id"], row["name"]) for row in links[1]} == {
        (f"{1:032x}", name) for name in ("postgres", "caroline", "melanie")
    }
    assert {row["memory_id"] for row in links[2]} == {f"{2:032x}"}
    assert links[3] == []
    sides = {("WORKS_FOR_SUBJECT", "greta lund"), ("WORKS_FOR_OBJECT", "oakline group")}
    assert sides <= {(row["edge"], row["name"]) for row in links[4]}
    expansions = {
        origin.event_sequence: rows for origin, rows in await collect(nats_client, "expansions", wanted=4)
    }
    assert "what was the decision about storage" in expansions[1][0]["expansions"]
    assert [row["memory_id"] for row in expansions[2]] == [f"{2:032x}"]
    assert expansions[3] == []


@pytest.mark.parametrize("service", SERVICES)
async def test_a_message_can_be_derived_again_on_request(
    nats_client: Client, workers: Workers, service: str
) -> None:
    """The reply is what was published, and nothing more is published."""
    process = workers.start(service)
    await publish(nats_client, 1, [memory(1)])
    ((origin, rows),) = await collect(nats_client, SERVICES[service], wanted=1)
    body = edges.encode(replace(origin, edge="memories"), [memory(1)], edges.memories_schema(4))
    before = (await nats_client.jetstream().stream_info(subjects.DERIVED_STREAM)).state.last_seq
    reply = await request_derivation(nats_client, SERVICES[service], sequence=1, memories=body)
    assert reply.made_with
    again, batch = edges.decode(reply.body)
    assert (again, batch.to_pylist()) == (origin, rows)
    newer = of_another_release(body)
    with pytest.raises(TemporaryError, match="run one release everywhere"):
        await request_derivation(nats_client, SERVICES[service], sequence=1, memories=newer)
    assert (await nats_client.jetstream().stream_info(subjects.DERIVED_STREAM)).state.last_seq == before
    assert process.poll() is None
