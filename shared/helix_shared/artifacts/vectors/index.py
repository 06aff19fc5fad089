"""When the vector table gets which indices, how a search uses them, and when compaction pays.

`VectorWriter.maintain` builds; `VectorReader` asks `vector_index` how far to look. The numbers are
measured: ops/decisions/0015.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from lancedb.index import Bitmap, BTree, IvfRq, IvfSq, LabelList

from helix_shared.artifacts.vectors.scan import scanned_column

if TYPE_CHECKING:
    from helix_shared.artifacts.vectors.form import Scan

INDEX_ROWS: Final = 2_000
"""Up to here a scan of all vectors is exact and fast (7 ms); above, indices are built (5 ms at 20,000)."""

ROWS_PER_PARTITION: Final = 1_000

SCALAR_ROWS: Final = 200_000
"""Up to here a byte a dimension (built in 3 s for 100,000), above a bit: a million take 76 MB, not 390."""

TRAINING_SAMPLES: Final = 32
TRAINING_ROUNDS: Final = 10

PROBES_PER_ROOT: Final = 4
"""Partitions looked at, per square root of their number: 40 of 100, 127 of 1,000."""

BINARY_CANDIDATES: Final = (4, 200)
"""Candidates worth rescoring, a factor of the limit and a constant: one bit a dimension orders roughly."""

SCALAR_CANDIDATES: Final = 1.5
"""As above for one byte a dimension; twice as many find nothing more."""

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

OVERDUE: Final = 2
"""Compaction that changes of old rows preempted is forced when this many times as much has come together."""

RESTING_ROWS: Final = 50_000
"""Up to here a table at rest is made one fragment again: a second of work nobody waits for."""

# LanceDB does not tell how many partitions an index has, so its name does.
_PREFIXES: Final[dict[Scan, str]] = {"scalar": "vector_ivf_", "binary": "vector_rq_"}
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


@dataclass(frozen=True, slots=True)
class VectorIndex:
    """The vector index of a table: how its vectors are scanned, in how many partitions."""

    scan: Scan
    partitions: int

    @property
    def name(self) -> str:
        """Its name in the table."""
        return f"{_PREFIXES[self.scan]}{self.partitions}"

    def nprobes_within(self, part: float) -> int:
        """Partitions to look at when a filter leaves this part of the rows: neighbours lie further apart."""
        return min(self.partitions, math.ceil(self.nprobes / math.sqrt(max(part, 1e-9))))

    @property
    def nprobes(self) -> int:
        """Partitions to look at for a recall@100 of .98 on questions."""
        return min(self.partitions, math.ceil(PROBES_PER_ROOT * math.sqrt(self.partitions)))

    def candidates(self, limit: int) -> int:
        """How many of the index's neighbours to rescore for the best `limit`."""
        if self.scan == "binary":
            factor, constant = BINARY_CANDIDATES
            return factor * limit + constant
        return math.ceil(SCALAR_CANDIDATES * limit)


def vector_index(table: Any) -> VectorIndex | None:
    """The vector index of a table; None: searches are exact."""
    return max(_vector_indices(_index_names(table)), key=lambda index: index.partitions, default=None)


def unindexed_rows(table: Any, index: VectorIndex | None) -> int:
    """Rows outside `index`, the `vector_index`, which every search scans; all, where there is none."""
    return int(table.count_rows() if index is None else table.index_stats(index.name).num_unindexed_rows)


def lacks_indices(table: Any, rows: int, *, scan: Scan = "auto") -> bool:
    """Tell whether a table of `rows` should have indices that it lacks."""
    if rows <= INDEX_ROWS:
        return False
    present = _index_names(table)
    return bool(_missing(present)) or not _serves(_vector_indices(present), wanted_index(rows, scan=scan))


def build_indices(table: Any, rows: int, *, scan: Scan = "auto") -> None:
    """Build the indices a table of `rows` should have and lacks."""
    if rows <= INDEX_ROWS:
        return
    present = _index_names(table)
    for column in _missing(present):
        table.create_index(column, config=_SCALAR_INDICES[column](), name=f"{column}_idx")
    wanted, built = wanted_index(rows, scan=scan), _vector_indices(present)
    if not _serves(built, wanted):
        _build_vector_index(table, wanted, built)


def rebuild_scalar_indices(table: Any) -> None:
    """Build the indices of ids, times and scopes anew: folding keeps the values of deleted rows in them."""
    for column in set(_SCALAR_INDICES).difference(_missing(_index_names(table))):
        table.create_index(column, config=_SCALAR_INDICES[column](), name=f"{column}_idx", replace=True)


def wanted_index(rows: int, *, scan: Scan = "auto") -> VectorIndex:
    """The index a table of `rows` is best served by, of the kind `scan`."""
    if scan == "auto":
        scan = "scalar" if rows <= SCALAR_ROWS else "binary"
    return VectorIndex(scan, max(1, rows // ROWS_PER_PARTITION))


def worth_compacting(table: Any, rows: int, *, resting: bool, patience: int = 1) -> bool:
    """Tell whether scans have become slow enough to rewrite files for; `resting`: nothing else is due.

    With `patience` only when there is that many times as much to compact.
    """
    fragments = int(table.stats()["fragment_stats"]["num_fragments"])
    most = min(MOST_FRAGMENTS, max(FEWEST_FRAGMENTS, rows // ROWS_PER_FRAGMENT))
    if fragments >= patience * most:
        return True
    if resting and fragments > 1 and rows <= RESTING_ROWS:
        return True
    index = vector_index(table)
    return index is not None and unindexed_rows(table, index) > patience * TAIL_ROWS


def _missing(present: set[str]) -> list[str]:
    return [column for column in _SCALAR_INDICES if f"{column}_idx" not in present]


def _serves(built: list[VectorIndex], wanted: VectorIndex) -> bool:
    alike = [index.partitions for index in built if index.scan == wanted.scan]
    return bool(alike) and max(alike) * RETRAIN_GROWTH > wanted.partitions


def _build_vector_index(table: Any, wanted: VectorIndex, built: list[VectorIndex]) -> None:
    kind = IvfRq if wanted.scan == "binary" else IvfSq
    config = kind(
        distance_type="cosine",
        num_partitions=wanted.partitions,
        sample_rate=TRAINING_SAMPLES,
        max_iterations=TRAINING_ROUNDS,
    )
    table.create_index(scanned_column(table.schema), config=config, name=wanted.name)
    for index in built:
        table.drop_index(index.name)


def _index_names(table: Any) -> set[str]:
    return {str(index.name) for index in table.list_indices()}


def _vector_indices(names: set[str]) -> list[VectorIndex]:
    return [
        VectorIndex(scan, int(name.removeprefix(prefix)))
        for name in names
        for scan, prefix in _PREFIXES.items()
        if name.startswith(prefix)
    ]
