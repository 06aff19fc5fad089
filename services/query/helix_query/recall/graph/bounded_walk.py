"""A walk of one or two hops from the seeds: the graph where PageRank is not wanted, or not affordable.

What arrives after h hops counts 1 / (1 + h), the inverse of the distance, and nothing goes further. It is
the first terms of the series that PageRank sums, so both rank by the same edges. At most so many edges are
read, those of the nodes with the most mass first, so the cost is bounded whatever the graph.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from helix_query.recall.graph.local_subgraph import LocalSubgraph, Mass, normalised_shares

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helix_shared.artifacts.graph.snapshot import GraphSnapshot


def bounded_walk(
    graph: GraphSnapshot,
    seeds: NDArray[np.int64],
    shares: NDArray[np.float64],
    *,
    hops: int = 2,
    hub_cap: int = 100,
    edge_budget: int = 2_000_000,
    kind_factors: NDArray[np.float64] | None = None,
) -> Mass:
    """Mass of the nodes at most `hops` edges from `seeds` (no node twice), which begin with `shares`.

    Each hop a node passes what it has to its neighbours, by weight; one without edges, or with more than
    `hub_cap`, passes nothing on, and neither does one for which `edge_budget` edges leave no room.
    `kind_factors[kind]` scales the weight of an edge; all 1 when absent.
    """
    touched = LocalSubgraph(graph, seeds, hub_cap=hub_cap, kind_factors=kind_factors)
    arrived = normalised_shares(shares)
    mass = arrived
    for hop in range(1, hops + 1):
        passing = _affordable(touched, arrived, edge_budget=edge_budget)
        touched.read_edges(passing)
        pushed = np.zeros(len(touched.nodes))
        pushed[passing] = arrived[passing]
        arrived = touched.passed(pushed)
        mass = touched.grown(mass) + arrived / (1 + hop)
    return touched.mass(mass)


def _affordable(
    touched: LocalSubgraph, arrived: NDArray[np.float64], *, edge_budget: int
) -> NDArray[np.int64]:
    """Local numbers of those that have something, the most first, until the budget of edges is spent."""
    order = np.lexsort((touched.nodes, -arrived))
    carrying = order[arrived[order] > 0]
    fits = touched.edges + np.cumsum(touched.unread(carrying)) <= edge_budget
    return carrying[fits]
