"""What a disturbed run has left, compared with a run that nothing disturbed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import grpc

from helix_cli.clients.broker import connected
from helix_cli.rebuilding.parity import columns
from helix_cli.rebuilding.parity.compare import compare
from helix_cli.rebuilding.parity.result import Parity
from helix_cli.stack.stack import Stack
from helix_cli.stack.supervisor import Say
from helix_lab.sets.wait_recallable import wait_recallable
from helix_memory.recall.v1 import recall_pb2, recall_pb2_grpc
from helix_shared.artifacts.generation.folders import current_number
from helix_shared.artifacts.generation.reader import Generation
from helix_shared.broker.provisioning.provision import provision

from .workload import Ledger, lost_and_twice, memory_of, tenant_of

COPIES: Final = {"ingest": 2, "doc2query": 2, "kg": 2, "forwarder": 0}
ACK_WAIT_SECONDS: Final = 15
SHORT_WAITS: Final = {
    f"HELIX_{role.upper()}_ACK_WAIT_SECONDS": str(ACK_WAIT_SECONDS)
    for role in ("ingest", "doc2query", "kg", "consolidation")
}
READY_SECONDS: Final = 600.0
"""Patience with a start: other work may leave a stack little of the machine."""
PATIENCE_SECONDS: Final = 3_600
AT_ANOTHER_TIME: Final = columns.OF_ITS_OWN | {"created_at"}
"""Columns that are not compared: when NATS stored an event is another moment in the other log."""


@dataclass
class Left:
    """What is wrong after a run; nothing is if it is equal to `Left()`."""

    unacknowledged: int = 0
    missing: int = 0
    """Acknowledged events whose memory its tenant does not get by id."""
    lost: int = 0
    twice: int = 0
    different: dict[str, int] = field(default_factory=dict)
    """Memories that differ from the undisturbed run, by kind of content."""

    @property
    def figure(self) -> str:
        """For the report."""
        lost = max(self.lost, self.missing)
        return f"{lost} lost, {self.twice} twice, {self.different or 'nothing'} different"


def stack_of(
    home: Path,
    models: Path,
    *,
    copies: Mapping[str, int] = COPIES,
    environment: Mapping[str, str] | None = None,
    nats_port: int = 0,
    say: Say = lambda _: None,
) -> Stack:
    """A stack whose processes know of the short ack wait."""
    given = SHORT_WAITS | dict(environment or {})
    return Stack(
        home, nats_port=nats_port, query_port=0, models=models, copies=copies, environment=given, say=say
    )


async def set_ack_wait(url: str) -> None:
    """What a killed worker held comes again soon; the workers keep alive what they hold accordingly."""
    async with connected(url) as jetstream:
        await provision(jetstream, ack_wait_seconds=ACK_WAIT_SECONDS)


def start(stack: Stack) -> None:
    """Wait until a stack that was started works, with the short ack wait."""
    stack.wait_ready(timeout_seconds=READY_SECONDS)
    asyncio.run(set_ack_wait(stack.nats_url))


def until_recallable(stack: Stack) -> None:
    """Wait until all that was published is recallable, enrichment included."""
    asyncio.run(wait_recallable(stack.nats_url, stack.query_address, wait_seconds=PATIENCE_SECONDS))


def not_recallable(address: str, numbers: Mapping[int, int]) -> int:
    """Acknowledged events whose memory its tenant does not get by id from the query service."""
    missing = 0
    with grpc.insecure_channel(address) as channel:
        stub = recall_pb2_grpc.RecallServiceStub(channel)
        for number in numbers:
            scope = recall_pb2.Scope(tenant_id=tenant_of(number))
            try:
                stub.GetMemory(recall_pb2.GetMemoryRequest(scope=scope, memory_id=memory_of(number)))
            except grpc.RpcError as error:
                if error.code() != grpc.StatusCode.NOT_FOUND:
                    raise
                missing += 1
    return missing


def opened(home: Path) -> Generation:
    """The current generation of a home."""
    number = current_number(home / "data")
    assert number is not None
    return Generation.open(home / "data", number)


def different(left: Path, right: Path, events: int) -> dict[str, int]:
    """Memories that differ between two homes, by kind of content."""
    before, after = opened(left), opened(right)
    try:
        parity = Parity(before.manifest.generation, up_to=events)
        compare(before, after, parity)
    finally:
        before.close()
        after.close()
    assert all(section.compared for section in parity.sections)
    return {section.name: section.different for section in parity.sections if section.different}


def left_of(stack: Stack, ledger: Ledger, undisturbed: Path, events: int) -> Left:
    """What a run has left; waits until all of it is recallable. The stack still runs."""
    until_recallable(stack)
    missing = not_recallable(stack.query_address, ledger.acknowledged)
    generation = opened(stack.home.root)
    try:
        lost, twice = lost_and_twice(generation, ledger.acknowledged)
    finally:
        generation.close()
    differing = different(undisturbed, stack.home.root, events)
    return Left(events - len(ledger.acknowledged), missing, lost, twice, differing)


def undisturbed_run(home: Path, models: Path, events: int) -> Path:
    """Publish the events into a new home, which nothing disturbs; returns the home."""
    with stack_of(home, models) as stack:
        start(stack)
        asyncio.run(Ledger().publish(stack.nats_url, range(events)))
        until_recallable(stack)
    return home
