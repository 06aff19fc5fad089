"""Looks up every document of a set by its id: is any lost, doubled, or visible to a foreign tenant?"""

from __future__ import annotations

from dataclasses import dataclass

from helix_lab.sets.data import EvaluationSet
from helix_lab.sets.handles import handle, tenant_of
from helix_memory.recall.v1 import recall_pb2
from helix_memory.transport.recall_client import RecallClient
from helix_shared.errors import NotFoundError
from helix_shared.identity import memory_id


@dataclass(frozen=True, slots=True)
class Inventory:
    """Counts of documents by outcome; `memories` is the count of the query service."""

    recallable: int
    lost: int
    seen_by_foreign_tenants: int
    memories: int

    def __str__(self) -> str:
        """One line for a person."""
        return (
            f"{self.recallable} documents recallable by id, {self.lost} lost, "
            f"{self.seen_by_foreign_tenants} visible to a foreign tenant; {self.memories} memories served"
        )


def take_inventory(data: EvaluationSet, client: RecallClient) -> Inventory:
    """Ask for the first memory of every document, in its own tenant and in every other of the set."""
    tenants = {tenant_of(data.name, document.tenant) for document in data.documents}
    recallable = foreign = 0
    for document in data.documents:
        own = tenant_of(data.name, document.tenant)
        identifier = memory_id(own, handle("document", data.name, document.id), 0)
        recallable += _sees(client, own, identifier)
        foreign += sum(_sees(client, tenant, identifier) for tenant in tenants - {own})
    return Inventory(recallable, len(data.documents) - recallable, foreign, client.status().memories)


def _sees(client: RecallClient, tenant: str, identifier: str) -> bool:
    try:
        client.memory(recall_pb2.Scope(tenant_id=tenant), identifier)
    except NotFoundError:
        return False
    return True
