"""The kinds of vector index, their parameters by size, and how a search uses them.

`maintenance` builds them. The numbers are measured: ops/decisions/0015 and 0032.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from helix_shared.artifacts.vectors.engine import IvfPq, IvfRq, IvfSq
from helix_shared.errors import InvalidInputError

if TYPE_CHECKING:
    from helix_shared.artifacts.vectors.form import IndexKind, ScanChoice

ROWS_PER_PARTITION: Final = 1_000

SCALAR_ROWS: Final = 200_000
"""Up to here `auto` takes the scalar index (built in 3 s for 100,000), above it the binary one."""

TRAINING_SAMPLES: Final = 32
TRAINING_ROUNDS: Final = 10

CODE_BITS: Final = 4
"""Bits of a sub-vector's code in the product index: 100,000 rows build in 3 s of CPU, with 8 bits in 48."""

SUB_VECTOR_DIMENSIONS: Final = 2
"""Dimensions of a sub-vector: two bits a dimension, as with 8 bits for 4 dimensions."""

_CODES_PER_BYTE: Final = 2
"""LanceDB packs two codes of 4 bits into a byte, so the number of sub-vectors must be even."""

PROBES_PER_ROOT: Final[dict[IndexKind, int]] = {"scalar": 4, "binary": 4, "product": 6}
"""Partitions searched, per square root of their number: of 1,000 partitions 127, of a product index 190."""

CANDIDATES: Final[dict[IndexKind, tuple[float, int]]] = {
    "scalar": (1.5, 0),
    "binary": (4, 200),
    "product": (6, 0),
}
"""Neighbours worth rescoring: a factor of the limit and a constant. The fewer bits, the more."""

# LanceDB does not tell how many partitions an index has, so its name does.
_PREFIXES: Final[dict[IndexKind, str]] = {
    "scalar": "vector_ivf_",
    "binary": "vector_rq_",
    "product": "vector_pq_",
}


@dataclass(frozen=True, slots=True)
class VectorIndex:
    """The vector index of a table: its kind and the number of its partitions."""

    kind: IndexKind
    partitions: int

    @property
    def name(self) -> str:
        """Its name in the table."""
        return f"{_PREFIXES[self.kind]}{self.partitions}"

    @property
    def nprobes(self) -> int:
        """Partitions to search: most neighbours that a search misses are in partitions it did not search."""
        return min(self.partitions, math.ceil(PROBES_PER_ROOT[self.kind] * math.sqrt(self.partitions)))

    def nprobes_within(self, part: float) -> int:
        """Partitions to search when a filter leaves this part of the rows: neighbours lie farther apart."""
        return min(self.partitions, math.ceil(self.nprobes / math.sqrt(max(part, 1e-9))))

    def candidates(self, limit: int) -> int:
        """Neighbours to rescore for the best `limit`."""
        factor, constant = CANDIDATES[self.kind]
        return math.ceil(factor * limit) + constant

    def config(self, dimensions: int) -> Any:
        """LanceDB's parameters to build it over vectors of this length."""
        shared: dict[str, Any] = {
            "distance_type": "cosine",
            "num_partitions": self.partitions,
            "sample_rate": TRAINING_SAMPLES,
            "max_iterations": TRAINING_ROUNDS,
        }
        if self.kind == "product":
            return IvfPq(num_sub_vectors=sub_vectors(dimensions), num_bits=CODE_BITS, **shared)
        return (IvfRq if self.kind == "binary" else IvfSq)(**shared)


def wanted_index(rows: int, *, scan: ScanChoice = "auto") -> VectorIndex:
    """The index that suits a table of `rows`, of the kind `scan`."""
    if scan == "auto":
        scan = "scalar" if rows <= SCALAR_ROWS else "binary"
    return VectorIndex(scan, max(1, rows // ROWS_PER_PARTITION))


def vector_indices(names: set[str]) -> list[VectorIndex]:
    """The vector indices among the names of a table's indices."""
    return [
        VectorIndex(kind, int(name.removeprefix(prefix)))
        for name in names
        for kind, prefix in _PREFIXES.items()
        if name.startswith(prefix)
    ]


def sub_vectors(dimensions: int) -> int:
    """Number of sub-vectors of a vector in the product index; a single dimension each where two do not fit.

    Raises:
        InvalidInputError: the number of dimensions is odd.
    """
    if dimensions % _CODES_PER_BYTE:
        raise InvalidInputError(
            "vector_scan",
            f"product needs an even number of dimensions, not {dimensions}: choose scalar or binary",
        )
    packed = dimensions % (SUB_VECTOR_DIMENSIONS * _CODES_PER_BYTE) == 0
    return dimensions // SUB_VECTOR_DIMENSIONS if packed else dimensions


def require_kind(scan: ScanChoice, dimensions: int) -> None:
    """Check that an index of the kind `scan` can be built over vectors of this length.

    Raises:
        InvalidInputError: it cannot.
    """
    if scan == "product":
        sub_vectors(dimensions)
