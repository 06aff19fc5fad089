"""The rows of the memories that a recall has chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from helix_query.recall.packing.entries import REPLACED_BY
from helix_query.recall.packing.rows import stored_rows
from helix_query.recall.result import RecalledRow
from helix_shared.telemetry.logs import logger

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from typing import Any

    import numpy as np
    from numpy.typing import NDArray

    from helix_query.recall.candidates import Candidates, Ranked
    from helix_query.recall.context import RecallContext

_log = logger(__name__)


def fetch(context: RecallContext, ranked: Ranked, candidates: Candidates) -> tuple[RecalledRow, ...]:
    """The rows of the chosen, best first; each is checked once more against the caller's selection."""
    generation, selection = context.generation, context.query.selection
    ordinals = candidates.ordinals[ranked.positions]
    rows = _rows_of(context, ordinals)
    linked = generation.graph.entities_of(ordinals)
    fetched = []
    for position, ordinal, score, entities in zip(
        ranked.positions, ordinals.tolist(), ranked.scores, linked, strict=True
    ):
        row = rows.get(ordinal)
        if row is None or not selection.admits(row):
            _log.error("row_withheld", ordinal=ordinal, generation=generation.manifest.generation)
            continue
        cosine = float(candidates.cosine[position])
        fetched.append(RecalledRow(row, entities, float(score), cosine, candidates.channels_of(position)))
    return tuple(fetched)


def fetch_by_id(context: RecallContext, memory_ids: Sequence[str]) -> tuple[RecalledRow, ...]:
    """The rows of memories that the caller names, in their order; without those that it may not see.

    They have no entities, scores and channels: packing shows none.
    """
    ordinals = context.snapshot.ordinals_of(memory_ids)
    rows = _rows_of(context, ordinals).values()
    by_id = {row["memory_id"]: row for row in rows if context.query.selection.admits(row)}
    return tuple(RecalledRow(by_id[one], (), 0.0, 0.0, ()) for one in memory_ids if one in by_id)


def _rows_of(context: RecallContext, ordinals: NDArray[np.int64]) -> dict[int, dict[str, Any]]:
    """Rows of the valid among `ordinals` with what replaced them; callers must check `Selection.admits`."""
    rows = {row["ordinal"]: row for row in stored_rows(context.snapshot, ordinals, context.visibility)}
    _note_replacements(context, rows.values())
    return rows


def _note_replacements(context: RecallContext, rows: Collection[dict[str, Any]]) -> None:
    """Add to each replaced row what replaced it, as `REPLACED_BY`.

    Left out where the caller or a filter of the request excludes it, or where it is flagged: a quote has no
    place for the flags.
    """
    replaced = [row for row in rows if row["hidden"] and row["superseded_by"]]
    if not replaced or not context.visibility.selection.with_replaced:
        return
    ordinals = context.snapshot.ordinals_of([row["superseded_by"] for row in replaced])
    later = stored_rows(context.snapshot, ordinals, context.visibility)
    selection = context.query.selection
    by_id = {row["memory_id"]: row for row in later if selection.admits(row) and not row["flags"]}
    for row in replaced:
        if (successor := by_id.get(row["superseded_by"])) is not None:
            row[REPLACED_BY] = successor
