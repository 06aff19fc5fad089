"""The vectors that a search scans: the stored ones, or the leading dimensions of a Matryoshka model's.

Such a model (Kusupati et al., "Matryoshka Representation Learning", NeurIPS 2022) puts the most important
dimensions first: a search scans short vectors and ranks its candidates by the full ones. The table then has
a column `SCAN_COLUMN` beside `vector`, which tells a reader; records come and go without it. The vector
index is built over the scanned column.
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
"""Neighbours by short vectors that are rescored by full ones, per memory of the limit."""


def shortened(vectors: NDArray[np.float32], dimensions: int) -> NDArray[np.float32]:
    """The first `dimensions` of the last axis, normalised to length 1; zeros stay zeros."""
    short = vectors[..., :dimensions]
    norms = np.linalg.norm(short, axis=-1, keepdims=True)
    unit: NDArray[np.float32] = (short / np.where(norms == 0, 1, norms)).astype(np.float32)
    return unit


def unit_query(vector: NDArray[np.float32], dimensions: int) -> NDArray[np.float32]:
    """The vector of a query, normalised to length 1.

    Raises:
        InvalidInputError: it has another length, is zero or not finite.
    """
    query = np.asarray(vector, dtype=np.float32)
    if query.shape != (dimensions,):
        raise InvalidInputError("vector", f"must have {dimensions} dimensions")
    norm = float(np.linalg.norm(query.astype(np.float64)))
    if not np.isfinite(norm) or norm == 0.0:
        raise InvalidInputError("vector", "must be finite and not zero")
    return (query / norm).astype(np.float32)


def scanned_column(schema: pa.Schema) -> str:
    """Name of the column that a search scans."""
    return SCAN_COLUMN if SCAN_COLUMN in schema.names else VECTOR_COLUMN


def scanned_dimensions(schema: pa.Schema) -> int:
    """Length of the vectors that a search scans."""
    return int(schema.field(scanned_column(schema)).type.list_size)


def with_scan_column(schema: pa.Schema, dimensions: int) -> pa.Schema:
    """The schema of a table whose searches scan the first `dimensions`; 0: all.

    Raises:
        InvalidInputError: the model's vectors have no more dimensions.
    """
    full = int(schema.field(VECTOR_COLUMN).type.list_size)
    if not dimensions:
        return schema
    if dimensions >= full:
        raise InvalidInputError("scan_dimensions", f"must be less than the {full} of the model, or 0")
    return schema.append(pa.field(SCAN_COLUMN, pa.list_(pa.float32(), dimensions), nullable=False))


def require_scanned(schema: pa.Schema, dimensions: int) -> None:
    """Check that searches of the table scan the first `dimensions`; 0: all.

    Raises:
        InvalidInputError: the table was created with another setting.
    """
    short = scanned_dimensions(schema) if SCAN_COLUMN in schema.names else 0
    if short != dimensions:
        raise InvalidInputError(
            "scan_dimensions",
            f"is {dimensions}, but the store was created with {short}: set it to {short}, "
            "or rebuild the store from the event stream",
        )


def with_scanned_vectors(records: pa.Table, schema: pa.Schema) -> pa.Table:
    """`records` with the scanned column computed from `vector`, if the schema has one."""
    if SCAN_COLUMN not in schema.names or VECTOR_COLUMN not in records.column_names:
        return records
    dimensions = scanned_dimensions(schema)
    flat = records[VECTOR_COLUMN].combine_chunks().flatten().to_numpy(zero_copy_only=False)
    full = flat.astype(np.float32, copy=False).reshape(records.num_rows, -1) if len(flat) else flat
    short = shortened(full, dimensions).ravel() if len(flat) else flat.astype(np.float32)
    column = pa.FixedSizeListArray.from_arrays(pa.array(short, pa.float32()), dimensions)
    plain = records.drop_columns([SCAN_COLUMN]) if SCAN_COLUMN in records.column_names else records
    return plain.append_column(SCAN_COLUMN, column)
