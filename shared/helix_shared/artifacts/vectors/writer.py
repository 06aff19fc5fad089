"""The writer of the vector table, which holds whole records; `reader` reads it.

Consolidation owns the one writer. The memory id is the table's primary key, so two rows never have the same
one. Hidden rows stay in the table (for `as_of` and to restore them); searches leave them out. LanceDB does
not fsync; `generation` does.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np

from helix_shared.artifacts.files.background_task import BackgroundTask
from helix_shared.artifacts.filter.sql import ordinals_sql
from helix_shared.artifacts.vectors.files import has_deletions, link_version, remove_superseded
from helix_shared.artifacts.vectors.form import DEFAULT_FORM, VectorForm
from helix_shared.artifacts.vectors.index import require_kind
from helix_shared.artifacts.vectors.maintenance import (
    OVERDUE,
    build_indices,
    lacks_indices,
    merge_parts,
    rebuild_scalar_indices,
    worth_compacting,
)
from helix_shared.artifacts.vectors.records import conforming
from helix_shared.artifacts.vectors.scan import require_scanned, scanned_dimensions, with_scanned_vectors
from helix_shared.artifacts.vectors.table import create_table, open_table, rows_of_ids
from helix_shared.telemetry.logs import logger

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pyarrow as pa
    from numpy.typing import NDArray


# `optimize` would remove old versions itself; `remove_superseded` does it when nothing writes.
_NEVER: Final = timedelta(days=36_500)

_PURGE_PARTS: Final = 8
"""Compaction rewrites a fragment once a tenth of its rows is deleted; an eighth is more than that."""

_LANCE_ERRORS: Final = (ValueError, RuntimeError, OSError)

_log = logger(__name__)


class VectorWriter:
    """Writes the live table in `folder`; for one process and one thread at a time."""

    def __init__(self, folder: Path, table: Any, form: VectorForm) -> None:
        self._folder = folder
        self._table = table
        self._schema: pa.Schema = table.schema
        self._form = form
        self._maintenance: BackgroundTask[bool] = BackgroundTask()
        self._was_aborted = False

    @classmethod
    def create(cls, folder: Path, dimensions: int, *, form: VectorForm = DEFAULT_FORM) -> Self:
        """Create an empty table in a folder that has none.

        Raises:
            InvalidInputError: `form` does not fit vectors of this length.
        """
        require_kind(form.scan, form.scan_dimensions or dimensions)
        return cls(folder, create_table(folder, dimensions, scanned=form.scan_dimensions), form)

    @classmethod
    def open(cls, folder: Path, *, form: VectorForm = DEFAULT_FORM) -> Self:
        """Open the table of `folder`.

        Raises:
            CorruptArtifactError: there is no table, or it cannot be read.
            InvalidInputError: the table scans another number of dimensions than `form` says, or its vectors
                cannot have the index of `form`.
        """
        table = open_table(folder)
        require_scanned(table.schema, form.scan_dimensions)
        require_kind(form.scan, scanned_dimensions(table.schema))
        return cls(folder, table, form)

    @property
    def count(self) -> int:
        """Rows, hidden ones included."""
        return int(self._table.count_rows())

    @property
    def hidden_count(self) -> int:
        """Hidden rows, which no search returns."""
        return int(self._table.count_rows("hidden = true"))

    @property
    def schema(self) -> pa.Schema:
        """Schema of the records."""
        return self._schema

    def upsert(self, records: pa.Table) -> None:
        """Insert or replace whole rows by memory id; `records` holds every column once per id.

        Raises:
            InvalidInputError: a column is missing or of another type, or an id occurs twice.
        """
        rows = conforming(with_scanned_vectors(records, self._schema), self._schema)
        if not rows.num_rows:
            return
        merge = self._table.merge_insert("memory_id")
        merge.when_matched_update_all().when_not_matched_insert_all().execute(rows)

    def delete(self, ordinals: Sequence[int] | NDArray[np.int64]) -> None:
        """Remove rows; the next `maintain(force=True)` removes their bytes."""
        if len(ordinals):
            self._table.delete(ordinals_sql(ordinals))

    def take(
        self, ordinals: Sequence[int] | NDArray[np.int64], columns: Sequence[str] | None = None
    ) -> pa.Table:
        """Rows of the `ordinals` that exist, in any order; all columns by default."""
        names = list(columns or self._schema.names)
        if not len(ordinals):
            return self._schema.empty_table().select(names)
        found = self._table.search().where(ordinals_sql(ordinals)).select(names).limit(len(ordinals))
        return found.to_arrow().select(names)

    def find(self, memory_ids: Sequence[str]) -> pa.Table:
        """Rows with these memory ids, in any order."""
        return rows_of_ids(self._table, memory_ids, self._schema.names)

    def scan(self, columns: Sequence[str]) -> pa.Table:
        """The given columns of all rows, in any order."""
        return self._table.search().select(list(columns)).limit(max(self.count, 1)).to_arrow()

    def maintain(self, *, force: bool = False, resting: bool = False) -> bool:
        """Compact, build or extend the indices and remove old versions, if that pays; returns whether it did.

        Building an index over a million rows takes a minute or more. `force` also removes the bytes of
        deleted rows. `resting` says that nothing else is due, so that less work pays.
        """
        self.finish_maintenance(wait=True)
        if not (force or self._pays(resting=resting)):
            return False
        _build_and_compact(self._table, self._form, resting=resting)
        if force:
            self._purge()
        self._was_aborted = False
        remove_superseded(self._folder)
        return True

    def begin_maintenance(self, *, resting: bool = False) -> bool:
        """Start `maintain` in a thread if it pays; the table may be written and linked meanwhile.

        A conflicting change of old rows aborts it. It then waits for an idle table; overdue, it runs here,
        where nothing else writes: changes that keep coming would abort it again. Returns whether it ran here.
        """
        if self._maintenance.is_running or not self._pays(resting=resting):
            return False
        if self._was_aborted and worth_compacting(self._table, self.count, resting=False, patience=OVERDUE):
            return self.maintain()
        if resting or not self._was_aborted:
            # A handle of its own: Lance resolves or reports conflicts with what this one writes.
            self._maintenance.start(
                lambda: _build_and_compact(open_table(self._folder), self._form, resting=resting)
            )
        return False

    @property
    def is_maintaining(self) -> bool:
        """Whether background maintenance is running."""
        return self._maintenance.is_running

    def finish_maintenance(self, *, wait: bool = False) -> bool:
        """Take over the result of background maintenance; returns whether there was one.

        With `wait` it waits for the thread. Old versions are removed here, where nothing else writes.
        """
        try:
            if not self._maintenance.collect(wait=wait):
                return False
            self._was_aborted = False
        except _LANCE_ERRORS as error:
            # A conflict with a write: the table holds the same rows as without maintenance.
            self._was_aborted = True
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
        """Remove the deleted rows of fragments that compaction skips, by moving their other rows."""
        for part in range(_PURGE_PARTS):
            if not has_deletions(self._folder):
                break
            self._table.update(where=f"ordinal % {_PURGE_PARTS} = {part}", values_sql={"ordinal": "ordinal"})
            self._table.optimize(cleanup_older_than=_NEVER)
        rebuild_scalar_indices(self._table)

    def link_into(self, folder: Path) -> None:
        """Hard-link the current version into `folder`, which then holds an independent table."""
        link_version(self._folder, folder)


def _build_and_compact(table: Any, form: VectorForm, *, resting: bool) -> bool:
    rows = int(table.count_rows())
    build_indices(table, rows, scan=form.scan)
    table.optimize(cleanup_older_than=_NEVER)
    if merge_parts(table, rows, scan=form.scan, resting=resting):
        table.optimize(cleanup_older_than=_NEVER)
    return True
