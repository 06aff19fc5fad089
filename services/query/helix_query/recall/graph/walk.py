"""A walk of the graph from seeds, by the method and within the bounds of a ranking profile."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from helix_query.profile.sections.section import PAGERANK, WALK, GraphMethod
from helix_query.recall.graph.bounded_walk import bounded_walk
from helix_query.recall.graph.pagerank import personalized_pagerank

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from helix_query.recall.graph.local_subgraph import Mass
    from helix_shared.artifacts.graph.snapshot import GraphSnapshot


@dataclass(frozen=True, slots=True)
class GraphWalk:
    """Personalized PageRank or the bounded walk; the constants are those of `profile.sections.graph`."""

    graph: GraphSnapshot
    method: GraphMethod = PAGERANK
    kind_factors: NDArray[np.float64] | None = None
    """Factor on the edges of each kind; None: 1."""
    restart: float = 0.3
    epsilon: float = 1e-5
    max_rounds: int = 50
    hops: int = 2
    hub_cap: int = 100
    edge_budget: int = 2_000_000

    def mass(self, seeds: NDArray[np.int64], shares: NDArray[np.float64]) -> tuple[Mass, GraphMethod]:
        """Mass of the nodes reached from `seeds`, and the method that was used.

        The bounded walk replaces PageRank if that would pass more than `edge_budget` edges.
        """
        mass = None
        if self.method == PAGERANK:
            mass = personalized_pagerank(
                self.graph,
                seeds,
                shares,
                restart=self.restart,
                epsilon=self.epsilon,
                max_rounds=self.max_rounds,
                hub_cap=self.hub_cap,
                edge_budget=self.edge_budget,
                kind_factors=self.kind_factors,
            )
        if mass is not None:
            return mass, PAGERANK
        walked = bounded_walk(
            self.graph,
            seeds,
            shares,
            hops=self.hops,
            hub_cap=self.hub_cap,
            edge_budget=self.edge_budget,
            kind_factors=self.kind_factors,
        )
        return walked, WALK

    def by(self, method: GraphMethod) -> GraphWalk:
        """The same walk by another method."""
        return replace(self, method=method)
