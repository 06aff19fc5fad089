"""Completing a correction: fields that its event leaves open are copied from the memory it corrects.

The rows are completed before anything else uses them, so the new version belongs to the session and document
of the old one unless the event names others. If the event names a version that was replaced, the old one is
the version that held before the event. A correction of a derived statement corrects the verbatim memory that
it came from. Owner and access list are always copied from the old one: `user_id` and `acl` of the event say
for whom it acts (`event_reach`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from helix_consolidation.folding.event_memories import memories_of, turn_of
from helix_consolidation.folding.status.version_members import current_before
from helix_shared.errors import PermanentError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from helix_consolidation.folding.context import FoldContext
    from helix_shared.edges import Origin


VISIBILITY: Final = ("user_id", "acl", "shared")
"""Columns that decide who may recall a memory."""
TEXT_COLUMNS: Final = ("vector", "token_codes")
"""Columns that follow from a version's text, so no version has those of another."""


def completed_correction(context: FoldContext, origin: Origin, rows: pa.RecordBatch) -> pa.RecordBatch:
    """`rows` of one message with the columns `origin.keeps` copied from the corrected memory.

    If that memory was removed after this correction was applied, they are copied from the correction's own
    stored rows. If these are gone as well, `rows` stay as they are: `memories` stores none of them.
    """
    corrects = rows["corrects"][0].as_py() if rows.num_rows else ""
    if not corrects:
        return rows
    _check_columns(origin, rows)
    turn, ledger = turn_of(context, origin.tenant_id, corrects), context.state.ledger
    ordinal = context.find(origin.tenant_id, corrects) if turn is None else turn
    if ordinal is None:
        own = memories_of(context, origin.tenant_id, origin.event_id, origin.event_sequence)
        stored = next(iter(own), None)
        if stored is None:
            return rows
        values = context.values_of(stored, sorted({*origin.keeps, *VISIBILITY, "corrects"}))
    else:
        verbatim = ledger.sources.of(ordinal)
        ordinal = ordinal if verbatim is None else verbatim
        current = current_before(context.state, ordinal, origin.event_sequence)
        values = {
            **context.values_of(current, sorted({*origin.keeps, *VISIBILITY})),
            "corrects": ledger.memory_id(ordinal),
        }
    return pa.RecordBatch.from_arrays(
        [_filled(rows, name, values) for name in rows.schema.names], schema=rows.schema
    )


def _check_columns(origin: Origin, rows: pa.RecordBatch) -> None:
    unknown = sorted(set(origin.keeps) - set(rows.schema.names) | set(origin.keeps) & set(TEXT_COLUMNS))
    if unknown or len(rows["corrects"].unique()) > 1:
        raise PermanentError(
            f"memories message keeps columns that no memory has ({', '.join(unknown)}), or corrects several"
        )


def _filled(rows: pa.RecordBatch, name: str, values: Mapping[str, Any]) -> pa.Array:
    if name not in values:
        return rows[name]
    return pa.array([values[name]] * rows.num_rows, rows.schema.field(name).type)
