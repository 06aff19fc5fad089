"""The vectors that are scanned: the stored ones, or for a Matryoshka model their first numbers.

Such a model (Kusupati et al., "Matryoshka Representation Learning", NeurIPS 2022) puts what matters
most first, so a search looks at short vectors and orders what it found by the whole ones. A table that
does so has a column `SCAN_COLUMN` beside `vector`, so that its schema tells a reader everything; records
come and go with the whole vector alone. `vector_index` builds over the scanned column.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from helix_shared.errors import InvalidInputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

VECTOR_COLUMN: Final = "vector"
SCAN_COLUMN: Final = "vector_short"

SHORT_CANDIDATES: Final = 4
"""Neighbours by the short vectors that are ordered again by the whole ones, per memory asked for."""


def shortened(vectors: NDArray[np.float32], dimensions: int) -> NDArray[np.float32]:
    """The first `dimensions` numbers of each of the last axis, made unit again; zeros stay zeros."""
    short = vectors[..., :dimensions]
    norms = np.linalg.norm(short, axis=-1, keepdims=True)
    unit: NDArray[np.float32] = (short / np.where(norms == 0, 1, norms)).astype(np.float32)
    return unit


def scanned_column(schema: pa.Schema) -> str:
    """Name of the column that searches scan."""
    return SCAN_COLUMN if SCAN_COLUMN in schema.names else VECTOR_COLUMN


def scanned_dimensions(schema: pa.Schema) -> int:
    """Length of the vectors that searches scan."""
    return int(schema.field(scanned_column(schema)).type.list_size)


def with_scan_column(schema: pa.Schema, dimensions: int) -> pa.Schema:
    """The schema of a table whose searches scan the first `dimensions` numbers; 0: all of them.

    Raises:
        InvalidInputError: the model's vectors are not longer than that.
    """
    whole = int(schema.field(VECTOR_COLUMN).type.list_size)
    if not dimensions:
        return schema
    if dimensions >= whole:
        raise InvalidInputError("scan_dimensions", f"must be less than the {whole} of the model, or 0")
    return schema.append(pa.field(SCAN_COLUMN, pa.list_(pa.float32(), dimensions), nullable=False))


def demand_scanned(schema: pa.Schema, dimensions: int) -> None:
    """Refuse a table whose searches do not scan the first `dimensions` numbers (0: all of them).

    Raises:
        InvalidInputError: the table was made with another setting.
    """
    short = scanned_dimensions(schema) if SCAN_COLUMN in schema.names else 0
    if short != dimensions:
        raise InvalidInputError(
            "scan_dimensions",
            f"is {dimensions}, but the store was made with {short}: set it to {short}, "
            "or build the store anew from the event stream",
        )


def with_scanned_vectors(records: pa.Table, schema: pa.Schema) -> pa.Table:
    """`records` with the scanned column, where the table of this schema has one, made from `vector`."""
    if SCAN_COLUMN not in schema.names or VECTOR_COLUMN not in records.column_names:
        return records
    dimensions = scanned_dimensions(schema)
    flat = records[VECTOR_COLUMN].combine_chunks().flatten().to_numpy(zero_copy_only=False)
    whole = flat.astype(np.float32, copy=False).reshape(records.num_rows, -1) if len(flat) else flat
    short = shortened(whole, dimensions).ravel() if len(flat) else flat.astype(np.float32)
    column = pa.FixedSizeListArray.from_arrays(pa.array(short, pa.float32()), dimensions)
    plain = records.drop_columns([SCAN_COLUMN]) if SCAN_COLUMN in records.column_names else records
    return plain.append_column(SCAN_COLUMN, column)
