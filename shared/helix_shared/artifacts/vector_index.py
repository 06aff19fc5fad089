"""When the vector table gets indices, and when compaction pays; called by `VectorWriter.maintain`."""

from __future__ import annotations

from typing import Any, Final

from lancedb.index import Bitmap, BTree, IvfSq, LabelList

INDEX_ROWS: Final = 2_000
"""Up to here a scan of all vectors is exact and fast (7 ms); above, indices are built (5 ms at 20,000)."""

ROWS_PER_PARTITION: Final = 1_000

# Scalar quantisation needs no codebook. Measured on 150,000 vectors of 384 dimensions: built in 4 s
# where product quantisation took 35, with the same recall of exact neighbours and the same latency;
# while an index is built, nothing is published.
TRAINING_SAMPLES: Final = 64
TRAINING_ROUNDS: Final = 20

RETRAIN_GROWTH: Final = 4
"""The vector index is built anew when the table asks for this many times its partitions."""

TAIL_ROWS: Final = 10_000
"""Rows outside the vector index are scanned by every search, so no more than these wait there."""

FEWEST_FRAGMENTS: Final = 8
MOST_FRAGMENTS: Final = 256
ROWS_PER_FRAGMENT: Final = 2_000
"""Compact when there are more fragments than rows / this, within the two bounds above.

A search opens every fragment (128 of them: 24 ms where one takes 7), but compaction rewrites whole
files, so the larger the table the rarer it must be.
"""

RESTING_ROWS: Final = 50_000
"""Up to here a table at rest is made one fragment again: a second of work nobody waits for."""

_VECTOR_INDEX: Final = "vector_ivf_"
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


def build_indices(table: Any, rows: int) -> bool:
    """Build the indices a table of `rows` should have and lacks; tell whether there were any."""
    if rows <= INDEX_ROWS:
        return False
    present = _index_names(table)
    missing = [column for column in _SCALAR_INDICES if f"{column}_idx" not in present]
    for column in missing:
        table.create_index(column, config=_SCALAR_INDICES[column](), name=f"{column}_idx")
    return _build_vector_index(table, rows, _partitions(present)) or bool(missing)


def has_vector_index(table: Any) -> bool:
    """Tell whether searches are approximate."""
    return bool(_partitions(_index_names(table)))


def worth_compacting(table: Any, rows: int, *, resting: bool) -> bool:
    """Tell whether scans have become slow enough to rewrite files for; `resting`: nothing else is due."""
    fragments = int(table.stats()["fragment_stats"]["num_fragments"])
    if fragments >= min(MOST_FRAGMENTS, max(FEWEST_FRAGMENTS, rows // ROWS_PER_FRAGMENT)):
        return True
    if resting and fragments > 1 and rows <= RESTING_ROWS:
        return True
    return any(
        int(table.index_stats(_name(partitions)).num_unindexed_rows) > TAIL_ROWS
        for partitions in _partitions(_index_names(table))
    )


def _build_vector_index(table: Any, rows: int, built: list[int]) -> bool:
    wanted = max(1, rows // ROWS_PER_PARTITION)
    if built and max(built) * RETRAIN_GROWTH > wanted:
        return False
    config = IvfSq(
        distance_type="cosine",
        num_partitions=wanted,
        sample_rate=TRAINING_SAMPLES,
        max_iterations=TRAINING_ROUNDS,
    )
    table.create_index("vector", config=config, name=_name(wanted))
    for partitions in built:
        table.drop_index(_name(partitions))
    return True


def _index_names(table: Any) -> set[str]:
    return {str(index.name) for index in table.list_indices()}


def _partitions(names: set[str]) -> list[int]:
    return [int(name.removeprefix(_VECTOR_INDEX)) for name in names if name.startswith(_VECTOR_INDEX)]


def _name(partitions: int) -> str:
    # LanceDB does not tell how many partitions an index has, so its name does.
    return f"{_VECTOR_INDEX}{partitions}"
