"""Completing a correction: what its event says nothing of is taken from the memory it corrects.

The rows are completed before anything else is made of them, so the new version belongs to the session and
document of the old one wherever the event did not give others. Who may recall it is always taken from the old
one: `user_id` and `acl` of a lifecycle event say for whom it acts (`reach`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from helix_consolidation.folding.event_memories import memories_of
from helix_shared.errors import PermanentError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from helix_consolidation.folding.context import FoldContext
    from helix_shared.edges import Origin


VISIBILITY: Final = ("user_id", "acl", "shared")
"""Columns that decide who may recall a memory."""


def completed(context: FoldContext, origin: Origin, rows: pa.RecordBatch) -> pa.RecordBatch:
    """`rows` of one message with the columns that `origin.keeps` as the corrected memory has them.

    Where that is gone since this correction was applied, its own rows still have them. Where these are gone
    as well the rows stay as they are: `memories` stores none of them.
    """
    if not rows.num_rows or not rows["corrects"][0].as_py():
        return rows
    _check_columns(origin, rows)
    ordinal = context.find(origin.tenant_id, rows["corrects"][0].as_py())
    if ordinal is None:
        ordinal = next(
            iter(memories_of(context, origin.tenant_id, origin.event_id, origin.event_sequence)), None
        )
    if ordinal is None:
        return rows
    values = context.values_of(ordinal, sorted({*origin.keeps, *VISIBILITY}))
    return pa.RecordBatch.from_arrays(
        [_filled(rows, name, values) for name in rows.schema.names], schema=rows.schema
    )


def _check_columns(origin: Origin, rows: pa.RecordBatch) -> None:
    unknown = sorted(set(origin.keeps) - set(rows.schema.names))
    if unknown or len(rows["corrects"].unique()) > 1:
        raise PermanentError(
            f"memories message keeps columns that no memory has ({', '.join(unknown)}), or corrects several"
        )


def _filled(rows: pa.RecordBatch, name: str, values: Mapping[str, Any]) -> pa.Array:
    if name not in values:
        return rows[name]
    return pa.array([values[name]] * rows.num_rows, rows.schema.field(name).type)
