"""LanceDB's table as rows and row ids: what `reader` and `writer` share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from helix_shared.artifacts.filter.sql import ids_sql
from helix_shared.artifacts.signals.append_only import AppendOnlyColumn
from helix_shared.artifacts.vectors.engine import lancedb
from helix_shared.artifacts.vectors.files import TABLE, TABLE_FOLDER
from helix_shared.artifacts.vectors.records import table_schema
from helix_shared.artifacts.vectors.scan import with_scan_column
from helix_shared.errors import CorruptArtifactError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pyarrow as pa
    from numpy.typing import NDArray

INDEX_CACHE_BYTES: Final = 64 << 20
METADATA_CACHE_BYTES: Final = 16 << 20
"""Caches of a handle without a session of its own. LanceDB's limits are 6 GiB and 1 GiB, and a writer fills
them: every version that it makes has entries of its own (18 KB an event at 25 events a second)."""
NO_ROW: Final = -1
_COMPARED: Final = 8
"""Newest rows compared to check that a map belongs to a table."""


def create_table(folder: Path, dimensions: int, *, scanned: int = 0) -> Any:
    """Create an empty table in a folder that has none; searches scan the first `scanned` dimensions, 0: all.

    Row ids stay the same through updates and compaction.
    """
    schema = with_scan_column(table_schema(dimensions), scanned)
    stable_rows = {"new_table_enable_stable_row_ids": "true"}
    database = lancedb.connect(str(folder), storage_options=stable_rows, session=_bounded())
    return database.create_table(TABLE, schema=schema)


def require_table(folder: Path) -> None:
    """Check that there is a table in `folder`.

    Raises:
        CorruptArtifactError: there is none.
    """
    if not (folder / TABLE_FOLDER).is_dir():
        raise CorruptArtifactError(f"folder has no vector table: {folder}")


def open_table(folder: Path, *, session: Any = None) -> Any:
    """Open the newest version; the handle stays at it. `session` holds LanceDB's caches, else a small one.

    Raises:
        CorruptArtifactError: there is no table, or it cannot be read.
    """
    require_table(folder)
    try:
        return lancedb.connect(str(folder), session=session or _bounded()).open_table(TABLE)
    except (ValueError, RuntimeError, OSError) as error:
        raise CorruptArtifactError(f"vector table cannot be read: {folder}") from error


def _bounded() -> Any:
    return lancedb.Session(INDEX_CACHE_BYTES, METADATA_CACHE_BYTES)


def rows_of_version(folder: Path) -> int:
    """Number of rows of the newest version in `folder`, from its metadata.

    Raises:
        CorruptArtifactError: there is no table, or it cannot be read.
    """
    return int(open_table(folder).count_rows())


async def open_for_search(folder: Path, *, session: Any = None) -> lancedb.AsyncTable:
    """The table of `open_table` with searches as coroutines."""
    connection = await lancedb.connect_async(str(folder), session=session)
    return await connection.open_table(TABLE)


def rows_of_ids(table: Any, memory_ids: Sequence[str], columns: Sequence[str]) -> pa.Table:
    """Columns of the rows with these memory ids, in any order."""
    names = list(columns)
    if not memory_ids:
        return table.schema.empty_table().select(names)
    found = table.search().where(ids_sql(memory_ids)).select(names).limit(len(memory_ids))
    return found.to_arrow()


@dataclass(frozen=True, slots=True)
class RowMap:
    """Ordinals by LanceDB's row ids of one version, and row ids by ordinals.

    Row ids are small and never change, so the map of a later version extends that of an earlier one.
    """

    ordinal_of_row: AppendOnlyColumn
    row_of_ordinal: AppendOnlyColumn

    @classmethod
    def of(cls, table: Any) -> RowMap:
        """Map all rows of a table."""
        return cls(
            AppendOnlyColumn.of(np.empty(0, np.int64)), AppendOnlyColumn.of(np.empty(0, np.int64))
        ).extended(table)

    def extended(self, table: Any) -> RowMap:
        """The map of a later version; reads its new rows only."""
        size = self.row_of_ordinal.size
        rows_after = table.search().where(f"ordinal >= {size}") if size else table.search()
        found = rows_after.select(["ordinal"]).with_row_id(True).limit(max(table.count_rows(), 1)).to_arrow()  # noqa: FBT003 - LanceDB's signature
        ordinals, rows = found["ordinal"].to_numpy(), found["_rowid"].to_numpy().astype(np.int64)
        return RowMap(_with(self.ordinal_of_row, rows, ordinals), _with(self.row_of_ordinal, ordinals, rows))

    def fits(self, table: Any) -> bool:
        """Tell whether a later table continues the one of this map; compares a few rows."""
        size = self.row_of_ordinal.size
        rows = self.row_ids(np.arange(max(0, size - _COMPARED), size)).tolist()
        if not rows:
            return True
        found = table.take_row_ids(rows).select(["ordinal"]).with_row_id().to_arrow()
        return bool((self.ordinals(found["_rowid"].to_numpy()) == found["ordinal"].to_numpy()).all())

    def ordinals(self, row_ids: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Ordinals of row ids that exist."""
        found: NDArray[np.int64] = self.ordinal_of_row.values[row_ids.astype(np.int64)]
        return found

    def row_ids(self, ordinals: NDArray[np.int64]) -> NDArray[np.int64]:
        """Row ids of those ordinals that have or had a row."""
        mapped = ordinals[(ordinals >= 0) & (ordinals < self.row_of_ordinal.size)]
        found = self.row_of_ordinal.values[mapped]
        existing: NDArray[np.int64] = found[found != NO_ROW]
        return existing


def _with(column: AppendOnlyColumn, places: NDArray[np.int64], values: NDArray[np.int64]) -> AppendOnlyColumn:
    size = max(column.size, int(places.max(initial=-1)) + 1)
    return column.with_values(places, values, size=size, fill=NO_ROW)
