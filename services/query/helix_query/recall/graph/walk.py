"""A walk of the graph from seeds, by the method and within the bounds of a ranking profile."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from helix_query.profile.sections.section import PAGERANK, WALK, GraphMethod
from helix_query.recall.graph.bounded_walk import bounded_walk
from helix_query.recall.graph.pagerank import personalized_pagerank
from helix_shared.artifacts.graph.snapshot import EDGE_KINDS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helix_query.profile.sections.graph import Expand
    from helix_query.recall.graph.local_subgraph import Mass
    from helix_shared.artifacts.graph.snapshot import GraphSnapshot


@dataclass(frozen=True, slots=True)
class GraphWalk:
    """Personalized PageRank or the bounded walk over a graph, with the constants of stage 5."""

    graph: GraphSnapshot
    constants: Expand
    kind_factors: NDArray[np.float64] = field(init=False)
    """Factor on the edges of each kind, once for both walks of a query."""

    def __post_init__(self) -> None:
        factors = np.array([self.constants.factor(kind) for kind in EDGE_KINDS], np.float64)
        object.__setattr__(self, "kind_factors", factors)

    def mass(self, seeds: NDArray[np.int64], shares: NDArray[np.float64]) -> tuple[Mass, GraphMethod]:
        """Mass of the nodes reached from `seeds`, and the method that was used.

        The bounded walk replaces PageRank if that would pass more than `edge_budget` edges.
        """
        constants = self.constants
        mass = None
        if constants.method == PAGERANK:
            mass = personalized_pagerank(
                self.graph,
                seeds,
                shares,
                restart=constants.restart,
                epsilon=constants.epsilon,
                max_rounds=constants.max_rounds,
                hub_cap=constants.hub_cap,
                edge_budget=constants.edge_budget,
                kind_factors=self.kind_factors,
            )
        if mass is not None:
            return mass, PAGERANK
        walked = bounded_walk(
            self.graph,
            seeds,
            shares,
            hops=constants.hops,
            hub_cap=constants.hub_cap,
            edge_budget=constants.edge_budget,
            kind_factors=self.kind_factors,
        )
        return walked, WALK

    def by(self, method: GraphMethod) -> GraphWalk:
        """The same walk by this method."""
        if method == self.constants.method:
            return self
        return replace(self, constants=self.constants.model_copy(update={"method": method}))
