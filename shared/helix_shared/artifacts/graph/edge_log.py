"""Edges in memory, in growing columns, for `builder`.

Every ordinal has a stamp. An edge stores the stamps at the time it was stated and is valid while they are
unchanged. So one increment invalidates all edges of a memory at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import DTypeLike, NDArray

_FIRST_CAPACITY: Final = 1_024
_KINDS: Final = 256


@dataclass(frozen=True, slots=True)
class StatedEdges:
    """Edges as stated, in order of statement."""

    source: NDArray[np.int64]
    target: NDArray[np.int64]
    kind: NDArray[np.uint8]
    weight: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.source)

    def chosen(self, kept: NDArray[Any]) -> StatedEdges:
        """The edges selected by a mask or by indices."""
        return StatedEdges(self.source[kept], self.target[kept], self.kind[kept], self.weight[kept])


class Column:
    """An array that grows; values that were never set are `fill`."""

    def __init__(self, dtype: DTypeLike, fill: int) -> None:
        self._fill = fill
        self._values: NDArray[Any] = np.full(_FIRST_CAPACITY, fill, dtype)

    def upto(self, size: int) -> NDArray[Any]:
        """A writable view of the first `size` values."""
        if size > len(self._values):
            grown = np.full(max(size, 2 * len(self._values)), self._fill, self._values.dtype)
            grown[: len(self._values)] = self._values
            self._values = grown
        return self._values[:size]

    def __getitem__(self, index: int) -> int:
        return int(self.upto(index + 1)[index])

    def __setitem__(self, index: int, value: int) -> None:
        self.upto(index + 1)[index] = value

    def bump(self, index: int) -> None:
        """Add one."""
        self[index] = self[index] + 1


class EdgeLog:
    """Edges with the stamps at the time they were stated."""

    def __init__(self) -> None:
        self._size = 0
        self._columns = {
            "source": Column(np.int64, 0),
            "target": Column(np.int64, 0),
            "kind": Column(np.uint8, 0),
            "weight": Column(np.float32, 0),
            "source_stamp": Column(np.int32, 0),
            "target_stamp": Column(np.int32, 0),
        }

    def __len__(self) -> int:
        return self._size

    def append(
        self,
        source: int | NDArray[np.int64],
        target: Sequence[int] | NDArray[np.int64],
        kind: Sequence[int] | NDArray[np.uint8],
        weight: Sequence[float] | NDArray[np.float32],
        *,
        source_stamp: int = 0,
        target_stamp: int = 0,
    ) -> None:
        """Add edges; `source` is one node or one node for each target."""
        start, self._size = self._size, self._size + len(target)
        values_of = (source, target, kind, weight, source_stamp, target_stamp)
        for column, values in zip(self._columns.values(), values_of, strict=True):
            column.upto(self._size)[start:] = values

    def has_valid(self, source: int, stamp: int) -> bool:
        """Whether an edge of `source` was stated with this stamp."""
        sources = self._columns["source"].upto(self._size)
        stamps = self._columns["source_stamp"].upto(self._size)
        return bool(((sources == source) & (stamps == stamp)).any())

    def valid(self, sources: Column, targets: Column | None) -> StatedEdges:
        """Edges whose stamps are unchanged; the others are dropped when they are the majority."""
        read = {name: column.upto(self._size) for name, column in self._columns.items()}
        is_valid = read["source_stamp"] == _stamps(sources, read["source"])
        if targets is not None:
            is_valid &= read["target_stamp"] == _stamps(targets, read["target"])
        kept = {name: values[is_valid] for name, values in read.items()}
        if 2 * int(is_valid.sum()) < self._size:
            self._keep(kept)
        return StatedEdges(kept["source"], kept["target"], kept["kind"], kept["weight"])

    def _keep(self, kept: dict[str, NDArray[Any]]) -> None:
        self._size = len(kept["source"])
        for name, values in kept.items():
            self._columns[name].upto(self._size)[:] = values


def last_stated(edges: StatedEdges) -> StatedEdges:
    """The last statement of every edge."""
    if not len(edges):
        return edges
    nodes = int(max(edges.source.max(), edges.target.max())) + 1
    identity = (edges.source * nodes + edges.target) * _KINDS + edges.kind
    _, from_end = np.unique(identity[::-1], return_index=True)
    kept = len(identity) - 1 - from_end
    return edges.chosen(kept)


def _stamps(column: Column, ordinals: NDArray[np.int64]) -> NDArray[Any]:
    stamps: NDArray[Any] = column.upto(int(ordinals.max(initial=-1)) + 1)[ordinals]
    return stamps
