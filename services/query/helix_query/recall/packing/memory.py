"""One memory by id, under the same visibility as a recall."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from helix_query.recall.packing.rows import moment_or_none, stored_rows
from helix_query.recall.visibility import Visibility
from helix_query.scheduling.deadline import raise_if_overdue
from helix_shared.errors import NotFoundError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from helix_query.generations.snapshot import Snapshot
    from helix_shared.artifacts.filter.selection import Selection


def get_memory(
    memory_id: str, selection: Selection, snapshot: Snapshot, *, now: datetime, deadline: float = math.inf
) -> tuple[Mapping[str, Any], tuple[str, ...]]:
    """The row and its entities; of a past moment, as they were then.

    A memory that nothing but decay hides is returned as well. The row has `access_count`, `last_accessed_at`
    and `decayed_at`, which no recall returns: an answer must not tell what somebody else asked.

    Raises:
        NotFoundError: there is none, or the caller may not see it; the error does not say which.
        OverdueError: `deadline`, a moment of the monotonic clock, has passed.
    """
    if selection.past:
        snapshot.prepare_as_of(deadline)
    raise_if_overdue(deadline)
    ordinals = snapshot.ordinals_of([memory_id])
    visibility = replace(Visibility.of(snapshot.generation, selection, now), with_decayed=True)
    for row in stored_rows(snapshot, ordinals, visibility):
        if selection.admits(row):
            entities = snapshot.generation.graph.entities_of(ordinals[:1])[0]
            return row | _usage(row["ordinal"], snapshot, selection), entities
    raise NotFoundError(f"no memory {memory_id} is visible to this scope")


def _usage(ordinal: int, snapshot: Snapshot, selection: Selection) -> dict[str, Any]:
    """How the memory was used; nothing at a past moment, since only the last access has a time."""
    signals = snapshot.generation.signals
    if selection.past:
        return {}
    return {
        "access_count": int(signals.access_count[ordinal]),
        "last_accessed_at": moment_or_none(int(signals.last_accessed_at[ordinal])),
        "decayed_at": moment_or_none(int(signals.decayed_at[ordinal])),
    }
