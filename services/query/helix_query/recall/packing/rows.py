"""Rows of memories as an answer shows them: their lines, completed from the signals.

Whether they live is asked here; who may see them, for the caller to ask of the selection once more.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC
from typing import TYPE_CHECKING, Any

from helix_query.recall.candidates import Entry
from helix_query.recall.columns import completed

if TYPE_CHECKING:
    from datetime import tzinfo

    import numpy as np
    from numpy.typing import NDArray

    from helix_query.generations.snapshot import Snapshot
    from helix_query.recall.visibility import Visibility


def stored_rows(served: Snapshot, ordinals: NDArray[np.int64], view: Visibility) -> list[dict[str, Any]]:
    """Rows of the living among `ordinals`, in their order.

    With `as_of` as they were then: nothing had superseded them, and a context that was completed by a
    turn of later is not shown.
    """
    signals = served.generation.signals
    rows = completed(signals.records(ordinals[view.alive(ordinals)]), signals)
    if view.past is None:
        return rows
    known = served.last_sequence_at(view.moment)
    return [_as_of(row, known) for row in rows]


def _as_of(row: dict[str, Any], known: int) -> dict[str, Any]:
    """A row without what was not known yet; `known` is the last event sequence of then."""
    completed_since = row["revision_sequence"] > max(known, row["stream_sequence"])
    return row | {"superseded_by": ""} | ({"context": ""} if completed_since else {})


def entry_of(row: Mapping[str, Any], zone: tzinfo | None) -> Entry:
    """A row as it stands in the packed context of a caller in `zone`; None: UTC."""
    return Entry(row["memory_id"], heading(row, zone or UTC), row["text"], row["token_count"])


def heading(row: Mapping[str, Any], zone: tzinfo) -> str:
    """Date in `zone`, and title or speaker, as they stand behind a citation number."""
    day = row["occurred_at"].astimezone(zone).date()
    parts = [day.isoformat(), row["speaker"] or row["role"], row["title"]]
    return ", ".join(part for part in parts if part)
