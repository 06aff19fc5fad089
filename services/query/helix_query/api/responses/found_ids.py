"""The work of one FindIds call: ids that begin with what people type, and whether their memories are shown.

Ids are looked up together, and so are the states of all that is found: a call about many memories costs
hardly more than one about a single one.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import numpy as np

from helix_memory import limits
from helix_memory.recall.v1 import recall_pb2
from helix_query.diagnostics.explanation import Loss
from helix_query.diagnostics.hidden_memory import hidden_memories
from helix_query.scheduling.deadline import raise_if_overdue
from helix_shared.artifacts.signals.columns import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from concurrent.futures import Executor

    from helix_query.diagnostics.hidden_memory import Hidden
    from helix_query.generations.snapshot import Snapshot
    from helix_shared.artifacts.filter.selection import Selection

IDS_FOUND: Final = 10
"""Ids that are shown for one beginning at most."""
PREFIXES_PER_CONDITION: Final = 50
"""Beginnings of ids in one condition: the engine reads a condition by recursion."""
_COLUMNS: Final = ("memory_id", "ordinal", "tenant_id", "owner", "audience")
_Ordinals = dict[str, int]
"""Ordinals of memories by their ids."""


def ids_reply(
    prefixes: Sequence[str],
    selection: Selection,
    snapshot: Snapshot,
    _lanes: Mapping[str, Executor],
    *,
    until: float,
) -> recall_pb2.FindIdsResponse:
    """The ids of the caller's memories that begin with each of `prefixes`, at least one, on one generation.

    Raises:
        OverdueError: `until`, a moment of the monotonic clock, has passed.
    """
    found = _found(prefixes, selection, snapshot, until)
    shown = {prefix: sorted(ordinals)[:IDS_FOUND] for prefix, ordinals in found.items()}
    ordinals = {one: found[prefix][one] for prefix, ids in shown.items() for one in ids}
    states = _states(ordinals, selection, snapshot)
    first, *more = (
        recall_pb2.FoundIds(
            memory_ids=shown[prefix],
            truncated=len(found[prefix]) > IDS_FOUND,
            states=[states[one] for one in shown[prefix]],
        )
        for prefix in prefixes
    )
    return recall_pb2.FindIdsResponse(
        memory_ids=first.memory_ids,
        truncated=first.truncated,
        generation=snapshot.number,
        states=first.states,
        more=more,
        applied_sequence=snapshot.applied_sequence,
    )


def _found(
    prefixes: Sequence[str], selection: Selection, snapshot: Snapshot, until: float
) -> dict[str, _Ordinals]:
    """The caller's memories by each beginning of their ids."""
    raise_if_overdue(until)
    vectors, found = snapshot.generation.vectors, {prefix: _Ordinals() for prefix in prefixes}
    whole = [prefix for prefix in found if len(prefix) == limits.ID_DIGITS]
    rows = vectors.find(whole, _COLUMNS).to_pylist()
    short = [prefix for prefix in found if len(prefix) < limits.ID_DIGITS]
    for start in range(0, len(short), PREFIXES_PER_CONDITION):
        raise_if_overdue(until)
        part = short[start : start + PREFIXES_PER_CONDITION]
        rows += vectors.find_prefixes(part, selection.tenant_id, _COLUMNS).to_pylist()
    lengths = sorted(set(map(len, found)))
    for row in filter(selection.access.admits, rows):
        for prefix in (row["memory_id"][:length] for length in lengths):
            if prefix in found:
                found[prefix][row["memory_id"]] = row["ordinal"]
    return found


def _states(
    ordinals: _Ordinals, selection: Selection, snapshot: Snapshot
) -> dict[str, recall_pb2.MemoryState]:
    """The states of these memories of the caller, by id."""
    places = np.array(list(ordinals.values()), np.int64)
    hidden = hidden_memories(places, selection, snapshot, now=datetime.now(UTC))
    is_decayed = snapshot.generation.signals.decayed_at[places] != NO_TIME
    return {
        one: _state(hidden.get(one), is_decayed=decayed)
        for one, decayed in zip(ordinals, is_decayed.tolist(), strict=True)
    }


def _state(hidden: Hidden | None, *, is_decayed: bool) -> recall_pb2.MemoryState:
    if hidden is None:
        loss = Loss.DECAYED if is_decayed else Loss.NONE
        return recall_pb2.MemoryState(loss=recall_pb2.Loss.Value(f"LOSS_{loss.name}"))
    return recall_pb2.MemoryState(
        loss=recall_pb2.Loss.Value(f"LOSS_{hidden.loss.name}"),
        event_sequence=hidden.state["deleted_by"],
        replaced_by="" if hidden.replacement is None else hidden.replacement["memory_id"],
    )
