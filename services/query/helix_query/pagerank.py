"""Personalized PageRank by forward push over a graph's rows: work follows the push, not the corpus.

Andersen, Chung, Lang, "Local Graph Partitioning using PageRank Vectors" (2006), section 3, with the
whole frontier pushed at once. Only touched nodes are held, numbered in the order they are met, and a
node's edges are read once, when it is first pushed; nothing the size of the graph is allocated.
`stages.expand` makes the seeds and reads the mass.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from helix_shared.artifacts.graph_base import flat
from helix_shared.artifacts.graph_snapshot import EdgeRows

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Graph(Protocol):
    """What a walk asks of a graph; `GraphSnapshot` answers."""

    def degrees(self, nodes: NDArray[np.int64], /) -> NDArray[np.int64]:
        """How many edges each of `nodes` has."""

    def edges_of(self, nodes: NDArray[np.int64], /) -> EdgeRows:
        """The edges of `nodes`, in their order."""


@dataclass(frozen=True, slots=True)
class Adjacency:
    """A graph in compressed sparse rows; every edge counts as stated in both directions."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    weights: NDArray[np.float32]
    kinds: NDArray[np.uint8]

    def degrees(self, nodes: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many edges each of `nodes` has."""
        counts: NDArray[np.int64] = self.indptr[nodes + 1] - self.indptr[nodes]
        return counts

    def edges_of(self, nodes: NDArray[np.int64]) -> EdgeRows:
        """The edges of `nodes`, in their order."""
        counts = self.degrees(nodes)
        places = flat(self.indptr[nodes], counts)
        targets = self.indices[places].astype(np.int64)
        return EdgeRows(counts, targets, self.weights[places], self.kinds[places], np.ones(len(places), bool))


@dataclass(frozen=True, slots=True)
class Mass:
    """PageRank of the touched nodes; `nodes` ascending, `shares` sum to 1 unless empty."""

    nodes: NDArray[np.int64]
    shares: NDArray[np.float64]

    def of(self, nodes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Share of each of `nodes`, 0 for the untouched."""
        if not len(self.nodes):
            return np.zeros(len(nodes), np.float64)
        positions = np.minimum(np.searchsorted(self.nodes, nodes), len(self.nodes) - 1)
        shares: NDArray[np.float64] = np.where(self.nodes[positions] == nodes, self.shares[positions], 0.0)
        return shares


def personalized_pagerank(
    graph: Graph,
    seeds: NDArray[np.int64],
    shares: NDArray[np.float64],
    *,
    restart: float = 0.3,
    epsilon: float = 1e-5,
    max_rounds: int = 50,
    hub_cap: int = 100,
    kind_factors: NDArray[np.float64] | None = None,
) -> Mass:
    """Mass of a walk that jumps back to `seeds` (no node twice, by `shares`) with chance `restart`.

    A node is pushed while its residual exceeds `epsilon` x its edges. What a node without edges, or
    with more than `hub_cap`, would pass on goes back to the seeds. `kind_factors[kind]` scales the
    weight of an edge; all 1 when absent.
    """
    touched = _Touched(graph, seeds.astype(np.int64), hub_cap=hub_cap, kind_factors=kind_factors)
    total = float(shares.sum())
    residual = shares.astype(np.float64) / total if total > 0 else np.zeros(len(seeds))
    mass = np.zeros(len(seeds))
    for _ in range(max_rounds):
        active = residual > epsilon * np.maximum(touched.degrees, 1)
        if not active.any():
            break
        touched.read_edges(active)
        new = len(touched.nodes) - len(residual)
        pushed = np.append(np.where(active, residual, 0.0), np.zeros(new))
        residual = np.append(np.where(active, 0.0, residual), np.zeros(new))
        residual += (1.0 - restart) * touched.passed(pushed)
        mass = np.append(mass, np.zeros(new)) + restart * pushed
    # Mass withheld at dead ends and hubs is spread like the rest: that is a return to the seeds.
    whole = float(mass.sum())
    order = np.argsort(touched.nodes)
    return Mass(touched.nodes[order], mass[order] / whole if whole > 0 else mass)


class _Touched:
    """The part of a graph a walk has met: local numbers for its nodes, and the edges read so far."""

    def __init__(
        self,
        graph: Graph,
        seeds: NDArray[np.int64],
        *,
        hub_cap: int,
        kind_factors: NDArray[np.float64] | None,
    ) -> None:
        self._graph = graph
        self._hub_cap = hub_cap
        self._kind_factors = kind_factors
        self.nodes = seeds
        self.degrees = graph.degrees(seeds)
        self._read = np.zeros(len(seeds), bool)
        self._sources = np.empty(0, np.int64)
        self._targets = np.empty(0, np.int64)
        self._rates = np.empty(0, np.float64)

    def read_edges(self, active: NDArray[np.bool_]) -> None:
        """Read the edges of active nodes that were not read before; their targets become nodes."""
        fresh = np.flatnonzero(active & ~self._read & (self.degrees <= self._hub_cap) & (self.degrees > 0))
        self._read |= active
        if not len(fresh):
            return
        rows = self._graph.edges_of(self.nodes[fresh])
        counts = rows.counts
        before = np.cumsum(counts) - counts
        weights = rows.weights.astype(np.float64)
        if self._kind_factors is not None:
            weights *= self._kind_factors[rows.kinds]
        sums = np.repeat(np.add.reduceat(weights, before), counts)
        rates = np.divide(weights, sums, out=np.zeros_like(weights), where=sums > 0)
        self._sources = np.append(self._sources, np.repeat(fresh, counts))
        self._rates = np.append(self._rates, rates)
        self._targets = np.append(self._targets, self._numbered(rows.targets))

    def passed(self, pushed: NDArray[np.float64]) -> NDArray[np.float64]:
        """What each node receives when every node passes on what is `pushed` from it."""
        moved = pushed[self._sources] * self._rates
        return np.bincount(self._targets, weights=moved, minlength=len(self.nodes)).astype(np.float64)

    def _numbered(self, nodes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Local numbers of `nodes`; those not met before are appended."""
        distinct, inverse = np.unique(nodes, return_inverse=True)
        order = np.argsort(self.nodes)
        known = self.nodes[order]
        places = np.minimum(np.searchsorted(known, distinct), len(known) - 1)
        met = known[places] == distinct
        numbers = np.where(met, order[places], 0)
        numbers[~met] = len(self.nodes) + np.arange(int((~met).sum()))
        fresh = distinct[~met]
        self.nodes = np.append(self.nodes, fresh)
        self.degrees = np.append(self.degrees, self._graph.degrees(fresh))
        self._read = np.append(self._read, np.zeros(len(fresh), bool))
        local: NDArray[np.int64] = numbers[inverse]
        return local
