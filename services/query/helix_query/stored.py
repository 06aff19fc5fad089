"""Rows of memories as an answer shows them: read from the vector table, completed from the signals.

Who may see them is for the caller to ask of the selection; whether they live is asked here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from helix_query.columns import STORED_COLUMNS, alive, completed, judged
from helix_query.pool import Entry

if TYPE_CHECKING:
    from datetime import datetime

    from numpy.typing import NDArray

    from helix_query.served import Served
    from helix_shared.artifacts.selection import Selection


def stored_rows(
    served: Served,
    ordinals: NDArray[np.int64],
    selection: Selection,
    *,
    now: datetime,
    columns: Sequence[str] = STORED_COLUMNS,
) -> list[dict[str, Any]]:
    """Rows of the living among `ordinals`, in their order.

    With `as_of` as they were then: nothing had superseded them, and a context that was completed by a
    turn of later is not shown.
    """
    generation = served.generation
    moment, past = judged(selection, generation.vectors, now)
    living = ordinals[alive(generation.signals, ordinals, now=moment, past=past)]
    if past is None:
        return completed(generation.vectors.take(living, columns).to_pylist(), generation.signals)
    stored = generation.vectors.take(living, [*columns, "revision_sequence"]).to_pylist()
    known = served.known_sequence(moment)
    return [_as_of(row, known) for row in completed(stored, generation.signals)]


def _as_of(row: dict[str, Any], known: int) -> dict[str, Any]:
    """A row without what was not known yet; `known` is the last event sequence of then."""
    completed_since = row.pop("revision_sequence") > max(known, row["stream_sequence"])
    return row | {"superseded_by": ""} | ({"context": ""} if completed_since else {})


def entry_of(row: Mapping[str, Any]) -> Entry:
    """A row as it stands in the packed context."""
    return Entry(row["memory_id"], heading(row), row["text"], row["token_count"])


def heading(row: Mapping[str, Any]) -> str:
    """Date, and title or speaker, as they stand behind a citation number."""
    parts = [f"{row['occurred_at']:%Y-%m-%d}", row["speaker"] or row["role"], row["title"]]
    return ", ".join(part for part in parts if part)
