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
    memory_id: str, selection: Selection, served: Snapshot, *, now: datetime, until: float = math.inf
) -> tuple[Mapping[str, Any], tuple[str, ...]]:
    """The row and its entities; of a selection with `as_of` as it was known then.

    Raises:
        NotFoundError: there is none, or the caller may not see it; which of the two is not told.
        OverdueError: `until`, a moment of the monotonic clock, came first.
    """
    if selection.as_of is not None:
        served.prepare_as_of(until)
    check(until)
    ordinals = served.ordinals_of([memory_id])
    for row in stored_rows(served, ordinals, Visibility.of(served.generation, selection, now)):
        if selection.admits(row):
            return row, served.generation.graph.entities_of(ordinals[:1])[0]
    raise NotFoundError(f"no memory {memory_id} is visible to this scope")
