"""The graph as everything on the query path reads it: one way to ask for the edges of nodes.

A generation's `GraphSnapshot` answers; `touched` and the entity channel ask.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from helix_shared.artifacts.graph.base import flat
from helix_shared.artifacts.graph.snapshot import EdgeRows

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Graph(Protocol):
    """What is asked of a graph."""

    def degrees(self, nodes: NDArray[np.int64], /) -> NDArray[np.int64]:
        """How many edges each of `nodes` has."""

    def edges_of(self, nodes: NDArray[np.int64], /) -> EdgeRows:
        """The edges of `nodes`, in their order."""


@dataclass(frozen=True, slots=True)
class Adjacency:
    """A graph in compressed sparse rows, all of it in memory."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    weights: NDArray[np.float32]
    kinds: NDArray[np.uint8]

    def degrees(self, nodes: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many edges each of `nodes` has."""
        counts: NDArray[np.int64] = self.indptr[nodes + 1] - self.indptr[nodes]
        return counts

    def edges_of(self, nodes: NDArray[np.int64]) -> EdgeRows:
        """The edges of `nodes`, in their order; all count as stated this way round."""
        counts = self.degrees(nodes)
        places = flat(self.indptr[nodes], counts)
        targets = self.indices[places].astype(np.int64)
        return EdgeRows(counts, targets, self.weights[places], self.kinds[places], np.ones(len(places), bool))
