"""The part of a graph that a walk has reached, with local numbers for its nodes.

Nodes are numbered in the order in which they are reached. The edges of a node are read once, when it first
passes mass on. Nothing of the size of the whole graph is allocated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helix_shared.artifacts.graph.snapshot import GraphSnapshot


@dataclass(frozen=True, slots=True)
class Mass:
    """Mass of the nodes that a walk reached; `nodes` ascending, `shares` sum to 1 unless all are 0."""

    nodes: NDArray[np.int64]
    shares: NDArray[np.float64]

    def of(self, nodes: NDArray[np.int64]) -> NDArray[np.float64]:
        """Share of each of `nodes`; 0 if it was not reached."""
        if not len(self.nodes):
            return np.zeros(len(nodes), np.float64)
        positions = np.minimum(np.searchsorted(self.nodes, nodes), len(self.nodes) - 1)
        shares: NDArray[np.float64] = np.where(self.nodes[positions] == nodes, self.shares[positions], 0.0)
        return shares


class LocalSubgraph:
    """A growing part of `graph` that starts as `seeds` (distinct nodes).

    A node with more than `hub_cap` edges passes nothing on. `kind_factors[kind]` scales the weight of an
    edge; all 1 when absent. Local number n is row n of `nodes` and `degrees`.
    """

    def __init__(
        self,
        graph: GraphSnapshot,
        seeds: NDArray[np.int64],
        *,
        hub_cap: int,
        kind_factors: NDArray[np.float64] | None,
    ) -> None:
        self._graph = graph
        self._hub_cap = hub_cap
        self._kind_factors = kind_factors
        self.nodes = seeds.astype(np.int64)
        self.degrees = graph.degrees(self.nodes)
        self._read = np.zeros(len(seeds), bool)
        self._sources = np.empty(0, np.int64)
        self._targets = np.empty(0, np.int64)
        self._rates = np.empty(0, np.float64)

    @property
    def edges(self) -> int:
        """Edges read so far."""
        return len(self._sources)

    def unread(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Edges that reading each of these nodes (local numbers) would add."""
        degrees = self.degrees[numbers]
        counts: NDArray[np.int64] = np.where(self._read[numbers] | (degrees > self._hub_cap), 0, degrees)
        return counts

    def read_edges(self, numbers: NDArray[np.int64]) -> None:
        """Read the edges of these nodes unless they are read; the targets become nodes."""
        fresh = numbers[self.unread(numbers) > 0]
        self._read[numbers] = True
        if not len(fresh):
            return
        found = self._graph.edges_of(self.nodes[fresh])
        weights = found.weights.astype(np.float64)
        if self._kind_factors is not None:
            weights *= self._kind_factors[found.kinds]
        sums = np.repeat(np.add.reduceat(weights, np.cumsum(found.counts) - found.counts), found.counts)
        rates = np.divide(weights, sums, out=np.zeros_like(weights), where=sums > 0)
        self._sources = np.append(self._sources, np.repeat(fresh, found.counts))
        self._rates = np.append(self._rates, rates)
        self._targets = np.append(self._targets, self._numbered(found.targets))

    def received(self, pushed: NDArray[np.float64]) -> NDArray[np.float64]:
        """Mass that each node receives if every node passes on its `pushed` mass."""
        moved = pushed[self._sources] * self._rates
        return np.bincount(self._targets, weights=moved, minlength=len(self.nodes)).astype(np.float64)

    def padded(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """`values` by local number, with 0 for nodes that were added since."""
        return np.append(values, np.zeros(len(self.nodes) - len(values)))

    def mass(self, values: NDArray[np.float64]) -> Mass:
        """Shares in proportion to `values`, by local number."""
        # Mass withheld at dead ends and hubs is spread in proportion, as if it returned to the seeds.
        whole = float(values.sum())
        order = np.argsort(self.nodes)
        return Mass(self.nodes[order], values[order] / whole if whole > 0 else values)

    def _numbered(self, nodes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Local numbers of `nodes`; new nodes are appended."""
        distinct, inverse = np.unique(nodes, return_inverse=True)
        order = np.argsort(self.nodes)
        numbered = self.nodes[order]
        rows = np.minimum(np.searchsorted(numbered, distinct), len(numbered) - 1)
        exists = numbered[rows] == distinct
        numbers = np.where(exists, order[rows], 0)
        numbers[~exists] = len(self.nodes) + np.arange(int((~exists).sum()))
        fresh = distinct[~exists]
        self.nodes = np.append(self.nodes, fresh)
        self.degrees = np.append(self.degrees, self._graph.degrees(fresh))
        self._read = np.append(self._read, np.zeros(len(fresh), bool))
        local: NDArray[np.int64] = numbers[inverse]
        return local


def normalised_shares(shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """`shares` scaled to sum to 1; zeros if they sum to 0."""
    total = float(shares.sum())
    scaled: NDArray[np.float64] = shares.astype(np.float64) / total if total > 0 else np.zeros(len(shares))
    return scaled
