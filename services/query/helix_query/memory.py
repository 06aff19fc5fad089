"""One memory by id, under the same visibility as a recall."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from helix_query.columns import STORED_COLUMNS, alive, completed
from helix_shared.errors import NotFoundError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from helix_query.served import Served
    from helix_shared.artifacts.selection import Selection


def get_memory(
    memory_id: str, selection: Selection, served: Served, *, now: datetime
) -> tuple[Mapping[str, Any], tuple[str, ...]]:
    """The row and its entities.

    Raises:
        NotFoundError: there is none, or the caller may not see it; which of the two is not told.
    """
    generation = served.generation
    stored = generation.vectors.find([memory_id], columns=STORED_COLUMNS).to_pylist()
    for row in completed(stored, generation.signals):
        ordinal = np.array([row["ordinal"]], np.int64)
        if selection.admits(row) and alive(generation.signals, ordinal, now=now)[0]:
            return row, tuple(generation.graph.entities_of(row["ordinal"]))
    raise NotFoundError(f"no memory {memory_id} is visible to this scope")
