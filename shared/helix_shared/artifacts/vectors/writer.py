"""The vectors and the whole records: one LanceDB table and its writer; `vector_reader` reads it.

The `vector_*` files alone know LanceDB. Consolidation owns the one writer. Equal memory ids never make
two rows: the id is the table's primary key. Hidden rows stay in the table (for `as_of` and for
restoring) and never come out of a search. LanceDB does not fsync; `generation` does.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np

from helix_shared.artifacts.files.background_task import BackgroundTask
from helix_shared.artifacts.filter.sql import ordinals_sql
from helix_shared.artifacts.vectors.files import has_deletions, link_version, remove_superseded
from helix_shared.artifacts.vectors.form import DEFAULT_FORM, VectorForm
from helix_shared.artifacts.vectors.index import (
    OVERDUE,
    build_indices,
    lacks_indices,
    rebuild_scalar_indices,
    worth_compacting,
)
from helix_shared.artifacts.vectors.records import conforming
from helix_shared.artifacts.vectors.scan import demand_scanned, with_scanned_vectors
from helix_shared.artifacts.vectors.table import create_table, open_table, rows_of_ids
from helix_shared.telemetry import logger

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pyarrow as pa
    from numpy.typing import NDArray


# `optimize` removes versions after a week by default; here `remove_superseded` does, when nothing writes.
_NEVER: Final = timedelta(days=36_500)

_PURGE_PARTS: Final = 8
"""Compaction rewrites a fragment from a tenth of deleted rows on; an eighth is more."""

_LANCE_ERRORS: Final = (ValueError, RuntimeError, OSError)

_log = logger(__name__)


class VectorWriter:
    """Writes the live table in `folder`; exactly one process and one thread at a time."""

    def __init__(self, folder: Path, table: Any, form: VectorForm) -> None:
        self._folder = folder
        self._table = table
        self._schema: pa.Schema = table.schema
        self._form = form
        self._maintenance: BackgroundTask[bool] = BackgroundTask()
        self._preempted = False

    @classmethod
    def create(cls, folder: Path, dimensions: int, *, form: VectorForm = DEFAULT_FORM) -> Self:
        """Make an empty table; the folder holds none yet."""
        return cls(folder, create_table(folder, dimensions, scanned=form.scan_dimensions), form)

    @classmethod
    def open(cls, folder: Path, *, form: VectorForm = DEFAULT_FORM) -> Self:
        """Open the table of `folder`.

        Raises:
            CorruptArtifactError: there is none that can be read.
            InvalidInputError: it scans another number of dimensions than `form` says.
        """
        table = open_table(folder)
        demand_scanned(table.schema, form.scan_dimensions)
        return cls(folder, table, form)

    @property
    def count(self) -> int:
        """Rows, hidden ones included."""
        return int(self._table.count_rows())

    @property
    def hidden_count(self) -> int:
        """Rows that no search returns."""
        return int(self._table.count_rows("hidden = true"))

    @property
    def schema(self) -> pa.Schema:
        """Schema of the records."""
        return self._schema

    def upsert(self, records: pa.Table) -> None:
        """Insert or replace whole rows by memory id; `records` holds every column once per id.

        Raises:
            InvalidInputError: a column is missing or of another type, or an id stands there twice.
        """
        rows = conforming(with_scanned_vectors(records, self._schema), self._schema)
        if not rows.num_rows:
            return
        merge = self._table.merge_insert("memory_id")
        merge.when_matched_update_all().when_not_matched_insert_all().execute(rows)

    def delete(self, ordinals: Sequence[int] | NDArray[np.int64]) -> None:
        """Remove rows; their bytes go with the next `maintain(force=True)`."""
        if len(ordinals):
            self._table.delete(ordinals_sql(ordinals))

    def take(
        self, ordinals: Sequence[int] | NDArray[np.int64], columns: Sequence[str] | None = None
    ) -> pa.Table:
        """Rows of `ordinals` that exist, in any order; `columns` are all by default."""
        names = list(columns or self._schema.names)
        if not len(ordinals):
            return self._schema.empty_table().select(names)
        found = self._table.search().where(ordinals_sql(ordinals)).select(names).limit(len(ordinals))
        return found.to_arrow().select(names)

    def find(self, memory_ids: Sequence[str]) -> pa.Table:
        """Rows with these ids, in any order."""
        return rows_of_ids(self._table, memory_ids, self._schema.names)

    def scan(self, columns: Sequence[str]) -> pa.Table:
        """The given columns of all rows, in any order."""
        return self._table.search().select(list(columns)).limit(max(self.count, 1)).to_arrow()

    def maintain(self, *, force: bool = False, resting: bool = False) -> bool:
        """Compact, fold new rows into the indices and remove old versions at once, when that pays.

        Builds the indices once the table is large, which takes a while for a million rows. With
        `force` the bytes of deleted rows are gone afterwards; `resting` says that nothing else is due,
        so that more pays. Tells whether anything was done.
        """
        self.finish_maintenance(wait=True)
        if not (force or self._pays(resting=resting)):
            return False
        _improve(self._table, form=self._form)
        if force:
            self._purge()
        self._preempted = False
        remove_superseded(self._folder)
        return True

    def begin_maintenance(self, *, resting: bool = False) -> None:
        """Let a thread do what `maintain` does, when that pays; meanwhile the table is written and linked.

        Changes of old rows preempt it. Then it waits for a table at rest, or is done at once when overdue.
        """
        if self._maintenance.is_under_way or not self._pays(resting=resting):
            return
        if resting or not self._preempted:
            # A handle of its own: versions that both write follow each other by Lance's rules of conflict.
            self._maintenance.start(lambda: _improve(open_table(self._folder), form=self._form))
        elif worth_compacting(self._table, self.count, resting=False, patience=OVERDUE):
            self.maintain()

    @property
    def is_maintained(self) -> bool:
        """Whether maintenance was begun and not finished yet."""
        return self._maintenance.is_under_way

    def finish_maintenance(self, *, wait: bool = False) -> bool:
        """Go on from what was begun if it is done; with `wait` when it is. Tells whether it was.

        Old versions are removed here, where nothing else writes.
        """
        try:
            if not self._maintenance.finished(wait=wait):
                return False
            self._preempted = False
        except _LANCE_ERRORS as error:
            # A conflict with what was written meanwhile: the table holds the same rows as it did.
            self._preempted = True
            _log.warning("vector table not compacted", reason=str(error))
        self._table.checkout_latest()
        remove_superseded(self._folder)
        return True

    def _pays(self, *, resting: bool) -> bool:
        rows = self.count
        return lacks_indices(self._table, rows, scan=self._form.scan) or worth_compacting(
            self._table, rows, resting=resting
        )

    def _purge(self) -> None:
        """Compaction leaves deleted rows where they are few, so others are moved out from beside them."""
        for part in range(_PURGE_PARTS):
            if not has_deletions(self._folder):
                break
            self._table.update(where=f"ordinal % {_PURGE_PARTS} = {part}", values_sql={"ordinal": "ordinal"})
            self._table.optimize(cleanup_older_than=_NEVER)
        rebuild_scalar_indices(self._table)

    def link_into(self, folder: Path) -> None:
        """Hard-link the current version into `folder`, which then holds a table of its own."""
        link_version(self._folder, folder)


def _improve(table: Any, *, form: VectorForm) -> bool:
    build_indices(table, int(table.count_rows()), scan=form.scan)
    table.optimize(cleanup_older_than=_NEVER)
    return True
