"""Maintenance of the vector table: which indices it should have, building them, and when to compact.

`writer` calls this; the reader only asks which vector index there is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from helix_shared.artifacts.vectors.engine import Bitmap, BTree, LabelList
from helix_shared.artifacts.vectors.index import VectorIndex, vector_indices, wanted_index
from helix_shared.artifacts.vectors.scan import scanned_column, scanned_dimensions

if TYPE_CHECKING:
    from helix_shared.artifacts.vectors.form import ScanChoice

INDEX_ROWS: Final = 2_000
"""Up to here a scan of all vectors is exact and fast (7 ms); above, indices are built (5 ms at 20,000)."""

RETRAIN_GROWTH: Final = 4
"""The vector index is built again when the table needs this many times its partitions."""

TAIL_ROWS: Final = 10_000
"""Most rows outside the vector index: every search scans them."""

FEWEST_FRAGMENTS: Final = 8
MOST_FRAGMENTS: Final = 256
ROWS_PER_FRAGMENT: Final = 2_000
"""Compact when there are more fragments than rows / this, within the two bounds above.

A search opens every fragment (128 of them: 24 ms where one takes 7), but compaction rewrites whole
files, so the larger the table the rarer it must be.
"""

FRAGMENTS_PER_PART: Final = 4
"""Merge the parts of the vector index when there are more than the most fragments / this, at least one.

`optimize` makes a part for new rows and merges none, and it does not merge fragments of two parts (0125).
"""

OVERDUE: Final = 2
"""Compaction that a conflict aborted is forced when this many times the usual amount is due."""

RESTING_ROWS: Final = 50_000
"""Up to here an idle table is compacted to one fragment, which takes a second."""

_SCALAR_INDICES: Final = {
    "memory_id": BTree,
    "ordinal": BTree,
    "event_at": BTree,
    "session_id": BTree,
    "tenant_id": Bitmap,
    "owner": Bitmap,
    "type": Bitmap,
    "project_id": Bitmap,
    "hidden": Bitmap,
    "audience": LabelList,
}


def vector_index(table: Any) -> VectorIndex | None:
    """The vector index of a table; None: searches are exact."""
    return max(vector_indices(_index_names(table)), key=lambda index: index.partitions, default=None)


def unindexed_rows(table: Any, index: VectorIndex | None) -> int:
    """Rows outside `index`, the `vector_index`, which every search scans; all rows without one."""
    return int(table.count_rows() if index is None else table.index_stats(index.name).num_unindexed_rows)


def lacks_indices(table: Any, rows: int, *, scan: ScanChoice = "auto") -> bool:
    """Tell whether a table of `rows` should have indices that it lacks."""
    if rows <= INDEX_ROWS:
        return False
    present = _index_names(table)
    return bool(_missing(present)) or not _suffices(vector_indices(present), wanted_index(rows, scan=scan))


def build_indices(table: Any, rows: int, *, scan: ScanChoice = "auto") -> None:
    """Build the indices that a table of `rows` should have and lacks."""
    if rows <= INDEX_ROWS:
        return
    for column in _missing(_index_names(table)):
        table.create_index(column, config=_SCALAR_INDICES[column](), name=f"{column}_idx")
    build_vector_index(table, wanted_index(rows, scan=scan))


def build_vector_index(table: Any, wanted: VectorIndex) -> None:
    """Build the index `wanted` and drop those it replaces, unless one that is there suffices."""
    built = vector_indices(_index_names(table))
    if not _suffices(built, wanted):
        _replace_vector_indices(table, built, wanted)


def merge_parts(table: Any, rows: int, *, scan: ScanChoice = "auto", resting: bool) -> bool:
    """Build the vector index again if it has too many parts; return whether it was.

    The fragments of the parts can be merged then. Building is the only way: LanceDB has no other.
    """
    built = vector_indices(_index_names(table))
    most = 1 if resting and rows <= RESTING_ROWS else _most_fragments(rows) // FRAGMENTS_PER_PART
    if all(int(table.index_stats(index.name).num_indices) <= most for index in built):
        return False
    _replace_vector_indices(table, built, wanted_index(rows, scan=scan))
    return True


def rebuild_scalar_indices(table: Any) -> None:
    """Build the indices of ids, times and scopes again: `optimize` keeps the values of deleted rows."""
    for column in set(_SCALAR_INDICES).difference(_missing(_index_names(table))):
        table.create_index(column, config=_SCALAR_INDICES[column](), name=f"{column}_idx", replace=True)


def worth_compacting(table: Any, rows: int, *, resting: bool, patience: int = 1) -> bool:
    """Tell whether scans have become slow enough to rewrite files for; `resting`: nothing else is due.

    With `patience` only when there is that many times as much to compact.
    """
    fragments = int(table.stats()["fragment_stats"]["num_fragments"])
    if fragments >= patience * _most_fragments(rows):
        return True
    if resting and fragments > 1 and rows <= RESTING_ROWS:
        return True
    index = vector_index(table)
    return index is not None and unindexed_rows(table, index) > patience * TAIL_ROWS


def _most_fragments(rows: int) -> int:
    return min(MOST_FRAGMENTS, max(FEWEST_FRAGMENTS, rows // ROWS_PER_FRAGMENT))


def _replace_vector_indices(table: Any, built: list[VectorIndex], wanted: VectorIndex) -> None:
    """Build `wanted`, also in the place of one with its name, and drop the others of `built`."""
    config = wanted.config(scanned_dimensions(table.schema))
    table.create_index(scanned_column(table.schema), config=config, name=wanted.name, replace=True)
    for index in built:
        if index != wanted:
            table.drop_index(index.name)


def _missing(present: set[str]) -> list[str]:
    return [column for column in _SCALAR_INDICES if f"{column}_idx" not in present]


def _suffices(built: list[VectorIndex], wanted: VectorIndex) -> bool:
    partitions = [index.partitions for index in built if index.kind == wanted.kind]
    return bool(partitions) and max(partitions) * RETRAIN_GROWTH > wanted.partitions


def _index_names(table: Any) -> set[str]:
    return {str(index.name) for index in table.list_indices()}
