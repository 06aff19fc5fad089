"""The graph as everything on the query path reads it: one way to ask for the edges of nodes.

`served` makes it of a generation; `touched` and the entity channel read it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helix_shared.artifacts.graph_snapshot import EdgeRows


@dataclass(frozen=True, slots=True)
class Edges:
    """Edges of several nodes, node by node; `counts` has one entry a node, the others one an edge."""

    counts: NDArray[np.int64]
    targets: NDArray[np.int64]
    weights: NDArray[np.float32]
    kinds: NDArray[np.uint8]


class Graph(Protocol):
    """What a walk asks of a graph; the `GraphSnapshot` of a generation answers, and `Adjacency`."""

    def degrees(self, nodes: NDArray[np.int64], /) -> NDArray[np.int64]:
        """How many edges each of `nodes` has."""

    def edges_of(self, nodes: NDArray[np.int64], /) -> Edges | EdgeRows:
        """The edges of `nodes`, in their order."""


@dataclass(frozen=True, slots=True)
class Adjacency:
    """A graph in compressed sparse rows; arrays may be memory-mapped."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    weights: NDArray[np.float32]
    kinds: NDArray[np.uint8]

    def degrees(self, nodes: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many edges each of `nodes` has."""
        counts: NDArray[np.int64] = self.indptr[nodes + 1] - self.indptr[nodes]
        return counts

    def edges_of(self, nodes: NDArray[np.int64]) -> Edges:
        """The edges of `nodes`, in their order."""
        counts = self.degrees(nodes)
        before = np.cumsum(counts) - counts
        places = np.repeat(self.indptr[nodes] - before, counts) + np.arange(int(counts.sum()))
        targets = self.indices[places].astype(np.int64)
        return Edges(counts, targets, self.weights[places], self.kinds[places])
