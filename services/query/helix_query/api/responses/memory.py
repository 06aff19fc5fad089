"""The tasks of GetMemory and GetHistory calls."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from helix_memory.recall.v1 import recall_pb2
from helix_query.api.responses.recall import memory_message, memory_response
from helix_query.diagnostics.memory_history import history_of
from helix_query.listing.visible import VisibleMemories
from helix_query.recall.packing.memory import get_memory

if TYPE_CHECKING:
    from collections.abc import Mapping
    from concurrent.futures import Executor

    from helix_query.diagnostics.memory_history import History, HistoryRelation
    from helix_query.generations.snapshot import Snapshot
    from helix_shared.artifacts.filter.selection import Selection


def memory_reply(
    memory_id: str,
    selection: Selection,
    snapshot: Snapshot,
    _lanes: Mapping[str, Executor],
    *,
    until: float,
) -> recall_pb2.GetMemoryResponse:
    """One memory on one generation.

    Raises: as `history_reply`.
    """
    row, entities = get_memory(memory_id, selection, snapshot, now=datetime.now(UTC), deadline=until)
    visible = VisibleMemories.of(snapshot, selection, datetime.now(UTC), until=until)
    nodes = snapshot.generation.graph.entity_nodes(selection.tenant_id, entities)
    return memory_response(row, entities, visible.display_names().of(nodes), snapshot)


def history_reply(
    memory_id: str,
    selection: Selection,
    snapshot: Snapshot,
    _lanes: Mapping[str, Executor],
    *,
    until: float,
) -> recall_pb2.GetHistoryResponse:
    """The history of a memory on one generation.

    Raises:
        NotFoundError: there is no such memory, or the caller may not see it.
        OverdueError: `until`, a moment of the monotonic clock, has passed.
    """
    history = history_of(memory_id, selection, snapshot, now=datetime.now(UTC), deadline=until)
    rows = zip(history.rows, history.entities, strict=True)
    return recall_pb2.GetHistoryResponse(
        memories=[memory_message(row, entities) for row, entities in rows],
        relations=[_relation(link, history) for link in history.relations],
        truncated=history.truncated,
        generation=snapshot.number,
    )


def _relation(link: HistoryRelation, history: History) -> recall_pb2.HistoryRelation:
    return recall_pb2.HistoryRelation(
        newer_id=history.ids[link.newer],
        older_id=history.ids[link.older],
        relation=link.relation,
        probability=link.probability,
        evidence=[recall_pb2.Evidence(name=name, value=value) for name, value in link.evidence.items()],
        closed=link.closed,
        counts=link.counts,
    )
