"""One memory by id, under the same visibility as a recall."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from helix_query.recall.packing.rows import stored_rows
from helix_query.recall.visibility import Visibility
from helix_query.scheduling.deadline import check
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

    Raises:
        NotFoundError: there is none, or the caller may not see it; the error does not say which.
        OverdueError: `deadline`, a moment of the monotonic clock, has passed.
    """
    if selection.past:
        snapshot.prepare_as_of(deadline)
    check(deadline)
    ordinals = snapshot.ordinals_of([memory_id])
    for row in stored_rows(snapshot, ordinals, Visibility.of(snapshot.generation, selection, now)):
        if selection.admits(row):
            return row, snapshot.generation.graph.entities_of(ordinals[:1])[0]
    raise NotFoundError(f"no memory {memory_id} is visible to this scope")
