"""The life of a worker process: signals, settings, a missing consumer, a restarted server."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from nats.aio.client import Client
from nats.js import api

from helix_memory import subjects
from helix_memory.transport.connection import connect
from helix_shared.broker import streams
from helix_shared.broker.provisioning.provision import provision
from helix_shared.broker.server import NatsServer, free_port
from tests.integration.test_cli.running import until

from .conftest import Workers, collect, memory, publish

pytestmark = pytest.mark.integration


async def test_sigterm_ends_quickly_and_loses_nothing(nats_client: Client, workers: Workers) -> None:
    """Exit code 0 in under five seconds; the running batch is finished."""
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


async def test_a_restarted_server_is_found_again(
    nats_client: Client, nats_server: NatsServer, workers: Workers
) -> None:
    """A worker waits for its server and continues where it was."""
    process = workers.start("kg")
    await publish(nats_client, 1, [memory(1)])
    await collect(nats_client, "links", wanted=1)
    nats_server.kill()
    nats_server.start()
    await publish(nats_client, 2, [memory(2)])
    answers = await collect(nats_client, "links", wanted=1)
    assert 2 in {origin.event_sequence for origin, _ in answers}
    assert process.poll() is None


async def test_any_server_of_a_cluster_will_do(nats_client: Client, workers: Workers) -> None:
    """Of several addresses, one that answers is enough to start and to work."""
    away = f"nats://127.0.0.1:{free_port()}"
    workers.start("kg", NATS_URL=f"{away},{workers.url}")
    await publish(nats_client, 1, [memory(1)])
    assert len(await collect(nats_client, "links", wanted=1)) == 1


@pytest.mark.parametrize("settings", [{"ACK_WAIT_SECONDS": "0"}, {"NAST_URL": "nats://127.0.0.1:1"}])
def test_a_wrong_setting_stops_the_start(workers: Workers, settings: dict[str, str]) -> None:
    """Out of bounds or misspelt: exit code 78 and the name of the setting."""
    process = workers.start("doc2query", **settings)
    assert process.wait(20) == 78
    assert f"HELIX_DOC2QUERY_{next(iter(settings))}" in workers.log(process, "doc2query")


def test_sigterm_ends_a_worker_that_waits_for_its_server(workers: Workers) -> None:
    """A worker without a server ends on SIGTERM."""
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


async def test_a_deleted_consumer_ends_the_process(nats_client: Client, workers: Workers) -> None:
    """Without its durable a worker can never receive again; its supervisor must see it end."""
    process = workers.start("kg")
    await publish(nats_client, 1, [memory(1)])
    await collect(nats_client, "links", wanted=1)
    await nats_client.jetstream().delete_consumer(subjects.DERIVED_STREAM, streams.KG)
    assert await asyncio.to_thread(process.wait, 20) == 1
    assert "was deleted" in workers.log(process, "kg")


async def test_the_server_of_another_instance_on_the_same_port_is_left_alone(tmp_path: Path) -> None:
    """Its messages are neither read nor acknowledged; the worker says so, and goes on with its own server."""
    mine = NatsServer(tmp_path / "mine", name="mine")
    theirs = NatsServer(tmp_path / "theirs", name="theirs", port=mine.port)
    workers = Workers(mine.url, tmp_path)
    try:
        with mine:
            async with provisioned(mine) as client:
                process = workers.start("kg")
                await publish(client, 1, [memory(1)])
                await collect(client, "links", wanted=1)
        with theirs:
            async with provisioned(theirs) as client:
                await publish(client, 1, [memory(1)])
                await asyncio.to_thread(
                    until, lambda: workers.log(process, "kg").count("it is of another instance") > 1
                )
                info = await client.jetstream().consumer_info(subjects.DERIVED_STREAM, streams.KG)
                assert (info.num_pending, info.num_ack_pending, info.num_waiting) == (1, 0, 0)
                assert (await client.jetstream().stream_info(subjects.DERIVED_STREAM)).state.messages == 1
        with mine:
            async with provisioned(mine) as client:
                await publish(client, 2, [memory(2)])
                answers = await collect(client, "links", wanted=2)
                assert {origin.event_sequence for origin, _ in answers} == {1, 2}
                assert process.poll() is None
    finally:
        for one in workers.processes:
            one.kill()
            one.wait()


@contextlib.asynccontextmanager
async def provisioned(server: NatsServer) -> AsyncIterator[Client]:
    """A client of a server with all streams."""
    client = await connect(server.url, name="test")
    await provision(client.jetstream())
    try:
        yield client
    finally:
        await client.close()
