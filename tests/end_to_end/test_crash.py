"""The whole path under crashes: an acknowledged event is recallable, once, and only by its tenant.

`tests/faults/crashes/test_crash_soak.py` does it for long, with more processes of each service.
"""

import asyncio
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import grpc
import pytest

from helix_cli.clients.sending import Tally, send_in_order
from helix_cli.stack.stack import Stack
from helix_lab.sets.wait_recallable import wait_recallable
from helix_memory.events import MessageEvent
from helix_memory.recall.v1 import recall_pb2, recall_pb2_grpc
from helix_memory.transport.connection import connect
from helix_memory.transport.publisher import Publisher
from helix_memory.transport.recall_client import RecallClient
from helix_shared.identity import memory_id
from helix_shared.sources.source_event import SourceEvent
from tests.integration.test_cli.running import shorten_ack_wait

pytestmark = [pytest.mark.integration, pytest.mark.timeout(400)]

TENANTS = ("acme", "umbrella", "initech")
MESSAGES = 60
FIRST = datetime(2026, 9, 1, 8, tzinfo=UTC)
TOPICS = ("the retry budget", "staging", "the importer", "billing", "our release train", "the parser")


def chat() -> list[MessageEvent]:
    """Chat of three tenants, several sessions each; all texts differ."""
    return [
        MessageEvent(
            event_id=f"message-{n}",
            tenant_id=TENANTS[n % 3],
            session_id=f"s{n % 12}",
            role="user" if n % 2 else "assistant",
            text=f"About {TOPICS[n % 6]}: ticket {n * 7919} moved worker {n * 104729 % 9973} to rack {n}.",
            occurred_at=FIRST + timedelta(minutes=n),
        )
        for n in range(MESSAGES)
    ]


@pytest.fixture
def stack(tmp_path: Path, models_dir: Path) -> Iterator[Stack]:
    """All services but the forwarder, two processes of ingest, a short ack wait.

    A read by id is an access. The forwarder would have it counted, and a count changes the memory.
    """
    copies = {"ingest": 2, "forwarder": 0}
    with Stack(tmp_path / "home", nats_port=0, query_port=0, copies=copies, models=models_dir) as running:
        running.wait_ready()
        shorten_ack_wait(running.nats_url)
        yield running


async def publish(url: str) -> Tally:
    """Publish every message, each session in order."""
    client = await connect(url, name="test")
    tally = Tally()
    try:
        located = (SourceEvent(event.event_id, event) for event in chat())
        await send_in_order(located, Publisher(client.jetstream()).publish_event, tally=tally)
    finally:
        await client.close()
    return tally


def crash_all_services(stack: Stack) -> None:
    """SIGKILL one of each worker, and the writer, once a third of the messages is recallable."""
    with RecallClient(stack.query_address) as client:
        while client.status().memories < MESSAGES // 3:
            time.sleep(0.1)
    for service in ("ingest", "consolidation", "kg", "doc2query"):
        stack.kill(service)


def test_crashes_lose_and_double_nothing_and_a_repeat_changes_nothing(stack: Stack) -> None:
    """Every acknowledged event is one memory, recallable by its own tenant alone."""
    crash = threading.Thread(target=crash_all_services, args=(stack,))
    crash.start()
    tally = asyncio.run(publish(stack.nats_url))
    assert (tally.published, tally.duplicates, tally.refusals) == (MESSAGES, 0, [])
    crash.join()
    asyncio.run(wait_recallable(stack.nats_url, stack.query_address, wait_seconds=240))
    with RecallClient(stack.query_address) as client:
        first = client.status()
    assert first.memories == MESSAGES
    before = recallable_by_id(stack.query_address)
    counts = {tenant: len(memories) for tenant, memories in before.items()}
    assert counts == dict.fromkeys(TENANTS, MESSAGES // 3)

    again = asyncio.run(publish(stack.nats_url))
    assert (again.published, again.duplicates) == (0, MESSAGES)
    asyncio.run(wait_recallable(stack.nats_url, stack.query_address, wait_seconds=60))
    with RecallClient(stack.query_address) as client:
        second = client.status()
    assert (second.memories, second.entities, second.edges) == (first.memories, first.entities, first.edges)
    assert recallable_by_id(stack.query_address) == before


def recallable_by_id(address: str) -> dict[str, list[bytes]]:
    """Each tenant's serialized memories, read by id; another tenant must get none."""
    found: dict[str, list[bytes]] = {tenant: [] for tenant in TENANTS}
    with grpc.insecure_channel(address) as channel:
        stub = recall_pb2_grpc.RecallServiceStub(channel)
        for event in chat():
            identifier = memory_id(event.tenant_id, event.event_id, 0)
            for tenant in TENANTS:
                request = recall_pb2.GetMemoryRequest(
                    scope=recall_pb2.Scope(tenant_id=tenant), memory_id=identifier
                )
                if tenant == event.tenant_id:
                    memory = stub.GetMemory(request).memory
                    assert memory.text == event.text
                    found[tenant].append(memory.SerializeToString(deterministic=True))
                else:
                    with pytest.raises(grpc.RpcError) as refused:
                        stub.GetMemory(request)
                    assert refused.value.code() == grpc.StatusCode.NOT_FOUND
    return found
