"""What a fleet has after a run, against what was acknowledged: lost, twice, or where it does not belong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from helix_memory.recall.v1 import recall_pb2
from helix_memory.sharding import hashed_shard
from helix_memory.transport.recall_client import RecallClient
from helix_shared.artifacts.generation.folders import current_number
from helix_shared.artifacts.generation.reader import Generation
from helix_shared.shard_map import folder_of_shard

from .workload import Ledger, event, memory_of

PAGE: Final = 200
"""Most memories of a page."""
Entry = tuple[str, str, str]
"""Tenant, memory id and text of a memory."""


@dataclass
class Difference:
    """What is wrong with a set of memories, in memories."""

    lost: int = 0
    twice: int = 0
    foreign: int = 0
    """Of another tenant, of another text, or of no event."""

    def count(self, wanted: set[Entry], found: Iterable[Entry]) -> None:
        """Add the difference of what is there to what should be."""
        counted = Counter(found)
        self.lost += len(wanted - counted.keys())
        self.twice += counted.total() - len(counted)
        self.foreign += len(counted.keys() - wanted)

    def __add__(self, other: Difference) -> Difference:
        return Difference(self.lost + other.lost, self.twice + other.twice, self.foreign + other.foreign)

    @property
    def figure(self) -> str:
        """For the report."""
        return f"{self.lost} lost, {self.twice} twice, {self.foreign} foreign"


def acknowledged_of(ledger: Ledger) -> dict[str, set[Entry]]:
    """The one memory of each acknowledged event, by tenant."""
    wanted: dict[str, set[Entry]] = {tenant: set() for tenant in ledger.tenants}
    for number in ledger.acknowledged:
        one = event(number, ledger.tenants)
        wanted[one.tenant_id].add((one.tenant_id, memory_of(number, ledger.tenants), one.text))
    return wanted


def answered_difference(address: str, wanted: dict[str, set[Entry]]) -> Difference:
    """What one replica lists for each tenant."""
    difference = Difference()
    with RecallClient(address, attempts=5) as client:
        for tenant, own in wanted.items():
            difference.count(own, _listed(client, tenant))
    return difference


def _listed(client: RecallClient, tenant: str) -> Iterator[Entry]:
    request = recall_pb2.ListMemoriesRequest(scope=recall_pb2.Scope(tenant_id=tenant), page_size=PAGE)
    while True:
        reply = client.memories(request)
        yield from ((one.tenant_id, one.memory_id, one.text) for one in reply.memories)
        if not reply.next_page_token:
            return
        request.page_token = reply.next_page_token


def stored_difference(data: Path, shards: int, wanted: dict[str, set[Entry]]) -> Difference:
    """What the stores of each shard hold, where `data` is the folder of the first."""
    difference = Difference()
    for shard in range(shards):
        own = [entries for tenant, entries in wanted.items() if hashed_shard(tenant, shards) == shard]
        difference.count(set().union(*own), _stored(folder_of_shard(data, shard)))
    return difference


def _stored(data: Path) -> list[Entry]:
    number = current_number(data)
    assert number is not None
    generation = Generation.open(data, number)
    try:
        columns = ("tenant_id", "memory_id", "text")
        rows = generation.vectors.take(range(len(generation.signals)), columns)
        return list(zip(*(rows[name].to_pylist() for name in columns), strict=True))
    finally:
        generation.close()
