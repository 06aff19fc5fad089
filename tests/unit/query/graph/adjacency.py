"""A graph in memory with the two methods of `GraphSnapshot` that walks call."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

import networkx as nx
import numpy as np

from helix_shared.artifacts.graph.base import flat
from helix_shared.artifacts.graph.snapshot import EdgeRows

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Adjacency:
    """A graph in compressed sparse rows."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    weights: NDArray[np.float32]
    kinds: NDArray[np.uint8]
    read: list[int] = field(default_factory=list)
    """How many edges each call of `edges_of` returned."""

    @classmethod
    def of(cls, graph: nx.Graph[int], *, kinds: list[int] | None = None) -> Self:
        """A networkx graph of nodes 0, 1, 2, ...; `kinds` by directed edge in row order, 0 when absent."""
        matrix = nx.to_scipy_sparse_array(graph, nodelist=range(len(graph)), weight="weight", format="csr")
        return cls(
            matrix.indptr.astype(np.int64),
            matrix.indices.astype(np.int32),
            matrix.data.astype(np.float32),
            np.array([0] * len(matrix.indices) if kinds is None else kinds, np.uint8),
        )

    def degrees(self, nodes: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many edges each of `nodes` has."""
        counts: NDArray[np.int64] = self.indptr[nodes + 1] - self.indptr[nodes]
        return counts

    def edges_of(self, nodes: NDArray[np.int64]) -> EdgeRows:
        """The edges of `nodes`, in their order."""
        counts = self.degrees(nodes)
        places = flat(self.indptr[nodes], counts)
        self.read.append(len(places))
        targets = self.indices[places].astype(np.int64)
        return EdgeRows(counts, targets, self.weights[places], self.kinds[places], np.ones(len(places), bool))
