"""LanceDB's table as rows and row ids: what `vectors` needs below its two classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import lancedb
import numpy as np

from helix_shared.artifacts.filter.sql import ids_sql
from helix_shared.artifacts.signals.append_only import AppendOnlyColumn
from helix_shared.artifacts.vectors.files import TABLE, TABLE_FOLDER
from helix_shared.artifacts.vectors.records import record_schema
from helix_shared.artifacts.vectors.scan import with_scan_column
from helix_shared.errors import CorruptArtifactError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pyarrow as pa
    from numpy.typing import NDArray

NONE: Final = -1
_COMPARED: Final = 8
"""Rows looked at to tell whether a map still holds."""


def create_table(folder: Path, dimensions: int, *, scanned: int = 0) -> Any:
    """Make an empty table in a folder that has none; searches scan the first `scanned` numbers, 0: all.

    Its row ids survive updates and compaction.
    """
    schema = with_scan_column(record_schema(dimensions), scanned)
    database = lancedb.connect(str(folder), storage_options={"new_table_enable_stable_row_ids": "true"})
    return database.create_table(TABLE, schema=schema)


def demand_table(folder: Path) -> None:
    """Check that there is a table in `folder`.

    Raises:
        CorruptArtifactError: there is none.
    """
    if not (folder / TABLE_FOLDER).is_dir():
        raise CorruptArtifactError(f"folder has no vector table: {folder}")


def open_table(folder: Path, *, session: Any = None) -> Any:
    """Open the newest version, and stay with it; what is read is kept in the `session`, if there is one.

    Raises:
        CorruptArtifactError: there is no table that can be read.
    """
    demand_table(folder)
    try:
        return lancedb.connect(str(folder), session=session).open_table(TABLE)
    except (ValueError, RuntimeError, OSError) as error:
        raise CorruptArtifactError(f"vector table cannot be read: {folder}") from error


def rows_of_version(folder: Path) -> int:
    """How many rows the newest version in `folder` has; known without reading them.

    Raises:
        CorruptArtifactError: there is no table that can be read.
    """
    return int(open_table(folder).count_rows())


async def open_for_search(folder: Path, *, session: Any = None) -> lancedb.AsyncTable:
    """The table of `open_table` for searches that are coroutines."""
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
    """LanceDB's row ids of one version, and the ordinals they stand for, both ways.

    Row ids are small and stay with their row for ever, so a later version adds to the map of an earlier.
    """

    ordinal_of_row: AppendOnlyColumn
    row_of_ordinal: AppendOnlyColumn

    @classmethod
    def of(cls, table: Any) -> RowMap:
        """Map the rows of a whole table."""
        return cls(
            AppendOnlyColumn.of(np.empty(0, np.int64)), AppendOnlyColumn.of(np.empty(0, np.int64))
        ).extended(table)

    def extended(self, table: Any) -> RowMap:
        """The map of a later version, by its new rows alone."""
        known = self.row_of_ordinal.size
        every = table.search().where(f"ordinal >= {known}") if known else table.search()
        found = every.select(["ordinal"]).with_row_id(True).limit(max(table.count_rows(), 1)).to_arrow()  # noqa: FBT003 - LanceDB's signature
        ordinals, rows = found["ordinal"].to_numpy(), found["_rowid"].to_numpy().astype(np.int64)
        return RowMap(_with(self.ordinal_of_row, rows, ordinals), _with(self.row_of_ordinal, ordinals, rows))

    def fits(self, table: Any) -> bool:
        """Whether a later table goes on from the one this was made of, as far as a few rows tell."""
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
        known = ordinals[(ordinals >= 0) & (ordinals < self.row_of_ordinal.size)]
        found = self.row_of_ordinal.values[known]
        existing: NDArray[np.int64] = found[found != NONE]
        return existing


def _with(column: AppendOnlyColumn, places: NDArray[np.int64], values: NDArray[np.int64]) -> AppendOnlyColumn:
    size = max(column.size, int(places.max(initial=-1)) + 1)
    return column.with_values(places, values, size=size, fill=NONE)
