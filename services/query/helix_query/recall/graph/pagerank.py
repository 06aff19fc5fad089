"""Personalized PageRank by forward push: the cost depends on the nodes reached, not on the graph.

Andersen, Chung, Lang, "Local Graph Partitioning using PageRank Vectors" (2006), section 3, with all
active nodes pushed in one round.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from helix_query.recall.graph.local_subgraph import LocalSubgraph, Mass, normalised_shares

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helix_shared.artifacts.graph.snapshot import GraphSnapshot


def personalized_pagerank(
    graph: GraphSnapshot,
    seeds: NDArray[np.int64],
    shares: NDArray[np.float64],
    *,
    restart: float = 0.3,
    epsilon: float = 1e-5,
    max_rounds: int = 50,
    hub_cap: int = 100,
    edge_budget: int = 2_000_000,
    kind_factors: NDArray[np.float64] | None = None,
) -> Mass | None:
    """Mass of a walk that returns to `seeds` (distinct nodes, by `shares`) with probability `restart`.

    A node is pushed while its residual exceeds `epsilon` x its edges. Mass of a node without edges, or with
    more than `hub_cap`, returns to the seeds. `kind_factors[kind]` scales the weight of an edge; all 1 when
    absent. None if the rounds would pass more than `edge_budget` edges in total; no more are read.
    """
    subgraph = LocalSubgraph(graph, seeds, hub_cap=hub_cap, kind_factors=kind_factors)
    residual, mass, passed = normalised_shares(shares), np.zeros(len(seeds)), 0
    for _ in range(max_rounds):
        active = residual > epsilon * np.maximum(subgraph.degrees, 1)
        if not active.any():
            break
        pushing = np.flatnonzero(active)
        passed += subgraph.edges + int(subgraph.unread(pushing).sum())
        if passed > edge_budget:
            return None
        subgraph.read_edges(pushing)
        pushed = subgraph.padded(np.where(active, residual, 0.0))
        residual = subgraph.padded(np.where(active, 0.0, residual)) + (1.0 - restart) * subgraph.received(
            pushed
        )
        mass = subgraph.padded(mass) + restart * pushed
    return subgraph.mass(mass)
