"""The record: a memory as consolidation writes it, and the part of it that is a row of the vector table.

`lexicon` and `signals` derive their own rows from records.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from helix_shared.edges import memories_schema
from helix_shared.errors import InvalidInputError

IN_SIGNALS_ONLY: Final = ("token_codes",)
"""Columns of a record that the vector table does not have; the signals hold them, and give them back."""


def record_schema(dimensions: int) -> pa.Schema:
    """Schema of a record: the columns of the memories edge, and those that consolidation adds."""
    time = pa.timestamp("us", tz="UTC")
    key = {"lance-schema:unenforced-primary-key": "true"}
    edge = [
        field.with_metadata(key) if field.name == "memory_id" else field
        for field in memories_schema(dimensions)
    ]
    names = pa.list_(pa.string())
    return pa.schema(
        [
            *edge,
            pa.field("ordinal", pa.int64(), nullable=False),
            pa.field("expansions", names, nullable=False),
            pa.field("is_latest", pa.bool_(), nullable=False),
            pa.field("superseded_by", pa.string(), nullable=False),
            pa.field("duplicate_of", pa.string(), nullable=False),
            pa.field("deleted_at", time),
            pa.field("access_count", pa.int32(), nullable=False),
            pa.field("helpful_count", pa.int32(), nullable=False),
            pa.field("unhelpful_count", pa.int32(), nullable=False),
            pa.field("last_accessed_at", time),
            # owner: "" if shared, else user_id; audience: the acl, or ["*"] without one
            pa.field("owner", pa.string(), nullable=False),
            pa.field("audience", names, nullable=False),
            # event_start, else occurred_at
            pa.field("event_at", time, nullable=False),
            # true if deleted, superseded, expired or decayed
            pa.field("hidden", pa.bool_(), nullable=False),
            # when a later memory, `superseded_by`, replaced what this one says; and how many say it again
            pa.field("closed_at", time),
            pa.field("restated", pa.int32(), nullable=False),
            pa.field("last_feedback_at", time),
            # since when decay hides it; null if it does not, or something else hides it as well
            pa.field("decayed_at", time),
            # sequence of the event that forgot or erases it; 0: none
            pa.field("deleted_by", pa.int64(), nullable=False),
            # whether that event erases it, as soon as every earlier event is processed
            pa.field("erasing", pa.bool_(), nullable=False),
        ]
    )


def table_schema(dimensions: int) -> pa.Schema:
    """Schema of the vector table: a record without `IN_SIGNALS_ONLY`."""
    return pa.schema([field for field in record_schema(dimensions) if field.name not in IN_SIGNALS_ONLY])


def conforming(records: pa.Table, schema: pa.Schema) -> pa.Table:
    """`records` with the columns of `schema` only, in its order and types.

    Raises:
        InvalidInputError: a column is missing or of another type, or a memory id occurs twice.
    """
    missing = [name for name in schema.names if name not in records.column_names]
    if missing:
        raise InvalidInputError("records", f"columns are missing: {', '.join(missing)}")
    ids = records["memory_id"]
    if len(ids.unique()) != len(ids):
        raise InvalidInputError("records", "a memory id occurs twice")
    try:
        return records.select(schema.names).cast(schema)
    except (pa.ArrowInvalid, ValueError) as error:
        raise InvalidInputError("records", f"do not fit the schema: {error}") from error
