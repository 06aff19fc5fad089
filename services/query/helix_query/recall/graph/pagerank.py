"""Personalized PageRank by forward push over a graph's rows: work follows the push, not the corpus.

Andersen, Chung, Lang, "Local Graph Partitioning using PageRank Vectors" (2006), section 3, with the
whole frontier pushed at once. `stages.expand` makes the seeds and reads the mass; where the graph is too
dense for the edges it may pass, `walk` takes its place.
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
    """Mass of a walk that jumps back to `seeds` (no node twice, by `shares`) with chance `restart`.

    A node is pushed while its residual exceeds `epsilon` x its edges. What a node without edges, or
    with more than `hub_cap`, would pass on goes back to the seeds. `kind_factors[kind]` scales the
    weight of an edge; all 1 when absent. None where the rounds together would pass more than
    `edge_budget` edges, before the first one too many is read.
    """
    touched = LocalSubgraph(graph, seeds, hub_cap=hub_cap, kind_factors=kind_factors)
    residual, mass, passed = normalised_shares(shares), np.zeros(len(seeds)), 0
    for _ in range(max_rounds):
        active = residual > epsilon * np.maximum(touched.degrees, 1)
        if not active.any():
            break
        pushing = np.flatnonzero(active)
        passed += touched.edges + int(touched.unread(pushing).sum())
        if passed > edge_budget:
            return None
        touched.read_edges(pushing)
        pushed = touched.grown(np.where(active, residual, 0.0))
        residual = touched.grown(np.where(active, 0.0, residual)) + (1.0 - restart) * touched.passed(pushed)
        mass = touched.grown(mass) + restart * pushed
    return touched.mass(mass)
