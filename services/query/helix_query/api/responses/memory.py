"""The work of one GetMemory, GetHistory or FindIds call."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from helix_memory.recall.v1 import recall_pb2
from helix_query.api.responses.recall import memory_message, memory_response
from helix_query.diagnostics.explanation import Loss
from helix_query.diagnostics.hidden_memory import hidden_memory
from helix_query.diagnostics.memory_history import history_of
from helix_query.listing.visible import Visible
from helix_query.recall.packing.memory import get_memory
from helix_query.scheduling.deadline import raise_if_overdue
from helix_shared.artifacts.signals.columns import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Mapping
    from concurrent.futures import Executor

    from helix_query.diagnostics.memory_history import History, Step
    from helix_query.generations.snapshot import Snapshot
    from helix_shared.artifacts.filter.selection import Selection

IDS_FOUND: Final = 10
"""Ids of a reply to FindIds at most."""


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
    visible = Visible.of(snapshot, selection, datetime.now(UTC), until=until)
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
        relations=[_relation(step, history) for step in history.steps],
        truncated=history.truncated,
        generation=snapshot.number,
    )


def ids_reply(
    prefix: str,
    selection: Selection,
    snapshot: Snapshot,
    _lanes: Mapping[str, Executor],
    *,
    until: float,
) -> recall_pb2.FindIdsResponse:
    """The ids of the caller's memories that begin with `prefix`, on one generation.

    Raises:
        OverdueError: `until`, a moment of the monotonic clock, has passed.
    """
    raise_if_overdue(until)
    columns = ("memory_id", "tenant_id", "owner", "audience")
    vectors = snapshot.generation.vectors
    rows = vectors.find_prefix(prefix, selection.tenant_id, columns, limit=vectors.count + 1).to_pylist()
    ids = sorted(row["memory_id"] for row in rows if selection.access.admits(row))
    return recall_pb2.FindIdsResponse(
        memory_ids=ids[:IDS_FOUND],
        truncated=len(ids) > IDS_FOUND,
        generation=snapshot.number,
        states=[_state(one, selection, snapshot) for one in ids[:IDS_FOUND]],
    )


def _state(memory_id: str, selection: Selection, snapshot: Snapshot) -> recall_pb2.MemoryState:
    hidden = hidden_memory(memory_id, selection, snapshot, now=datetime.now(UTC))
    if hidden is None:
        [decayed_at] = snapshot.generation.signals.decayed_at[snapshot.ordinals_of([memory_id])]
        loss = Loss.NONE if decayed_at == NO_TIME else Loss.DECAYED
        return recall_pb2.MemoryState(loss=recall_pb2.Loss.Value(f"LOSS_{loss.name}"))
    return recall_pb2.MemoryState(
        loss=recall_pb2.Loss.Value(f"LOSS_{hidden.loss.name}"),
        event_sequence=hidden.state["deleted_by"],
        replaced_by="" if hidden.replacement is None else hidden.replacement["memory_id"],
    )


def _relation(step: Step, history: History) -> recall_pb2.HistoryRelation:
    return recall_pb2.HistoryRelation(
        newer_id=history.ids[step.newer],
        older_id=history.ids[step.older],
        relation=step.relation,
        probability=step.probability,
        evidence=[recall_pb2.Evidence(name=name, value=value) for name, value in step.evidence.items()],
        closed=step.closed,
        counts=step.counts,
    )
