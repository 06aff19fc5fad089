"""Statements on the disk: segments of Arrow rows, mapped; an erased statement leaves an empty row."""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from helix_consolidation.statements.statement_row import ERASED_GROUP, SCHEMA, StatementRow, rows_of, table_of
from helix_shared.artifacts.files.segment_files import SegmentFiles
from helix_shared.errors import REBUILD, CorruptArtifactError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from helix_shared.artifacts.files.segment_files import Merge

MOST_MERGED: Final = 65_536
"""Rows from which a segment is not merged again."""


class StatementFiles:
    """The segments in a folder, which may be new; one thread of one process writes.

    Raises:
        CorruptArtifactError: a segment cannot be read.
    """

    def __init__(self, folder: Path) -> None:
        self._tables: dict[Path, pa.Table] = {}
        self._segments = SegmentFiles(
            folder, ".arrow", lambda path: int(self._table(path).num_rows), most=MOST_MERGED
        )

    @property
    def paths(self) -> list[Path]:
        """The segments, oldest first."""
        return self._segments.files

    @property
    def count(self) -> int:
        """Number of rows."""
        return sum(self._segments.counts)

    def groups_and_ordinals(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Two columns of all rows."""
        tables = [self._table(path) for path in self.paths] or [SCHEMA.empty_table()]
        whole = pa.concat_tables([table.select(["group", "ordinal"]) for table in tables])
        return whole["group"].to_numpy().copy(), whole["ordinal"].to_numpy().copy()

    def rows(self, numbers: NDArray[np.int64]) -> list[StatementRow]:
        """Rows by ascending numbers."""
        starts = np.cumsum([0, *self._segments.counts])
        found: list[StatementRow] = []
        for path, start, end in zip(self.paths, starts[:-1], starts[1:], strict=True):
            inside = numbers[(numbers >= start) & (numbers < end)]
            if len(inside):
                found += rows_of(self._table(path).take(inside - start))
        return found

    def append(self, rows: Sequence[StatementRow]) -> None:
        """Write rows as a new segment."""
        if not rows:
            return
        added = table_of(rows)

        def write(merge: Merge) -> int:
            whole = pa.concat_tables([*(self._tables.pop(path) for path in merge.segments), added])
            _write(merge.target, whole)
            return int(whole.num_rows)

        for path in self.paths:
            self._table(path)
        self._segments.append(len(rows), write)

    def erase(self, numbers: Iterable[int]) -> None:
        """Empty rows; the segments that hold them are written again."""
        for segment, places in self._places(numbers).items():
            self._segments.rewrite(segment, partial(self._empty, [place for place, _ in places]))

    def revise(self, rows: Mapping[int, StatementRow]) -> None:
        """Replace rows by number; the segments that hold them are written again."""
        for segment, places in self._places(rows).items():
            replaced = {place: rows[number] for place, number in places}
            self._segments.rewrite(segment, partial(self._replace, replaced))

    def _places(self, numbers: Iterable[int]) -> dict[int, list[tuple[int, int]]]:
        """By segment, the place and the number of each row, ascending."""
        starts = np.cumsum([0, *self._segments.counts])
        of_segment: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        for number in sorted(numbers):
            segment = int(np.searchsorted(starts, number, side="right")) - 1
            of_segment[segment].append((number - int(starts[segment]), number))
        return of_segment

    def _replace(self, rows: Mapping[int, StatementRow], path: Path, target: Path) -> None:
        table = self._table(path).combine_chunks()
        is_replaced = np.zeros(table.num_rows, bool)
        is_replaced[list(rows)] = True
        values = table_of(list(rows.values())).combine_chunks()
        columns = [
            pc.replace_with_mask(
                table[name].combine_chunks(), pa.array(is_replaced), values[name].combine_chunks()
            )
            for name in SCHEMA.names
        ]
        _write(target, pa.table(columns, schema=SCHEMA))
        del self._tables[path]

    def _empty(self, places: Sequence[int], path: Path, target: Path) -> None:
        table = self._table(path)
        is_gone = np.zeros(table.num_rows, bool)
        is_gone[list(places)] = True
        empty = {
            "group": pa.scalar(ERASED_GROUP),
            "ordinal": pa.scalar(ERASED_GROUP),
            "content": pa.scalar(0),
        }
        empty |= {name: pa.scalar(b"") for name in ("vector", "words", "minhash", "payload")}
        for name, value in empty.items():
            at = table.schema.get_field_index(name)
            column = pc.if_else(pa.array(is_gone), value, table[name])
            table = table.set_column(at, SCHEMA.field(name), column)
        _write(target, table)
        del self._tables[path]

    def _table(self, path: Path) -> pa.Table:
        found = self._tables.get(path)
        if found is None:
            try:
                with pa.memory_map(str(path)) as source:
                    found = pa.ipc.open_file(source).read_all()
            except (OSError, pa.ArrowException) as error:
                raise CorruptArtifactError(f"statements cannot be read: {path}") from error
            if found.schema != SCHEMA:
                raise CorruptArtifactError(f"statements are of another version: {path}; {REBUILD}")
            self._tables[path] = found
        return found


def _write(path: Path, table: pa.Table) -> None:
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, SCHEMA) as writer:
        writer.write_table(table.combine_chunks())
