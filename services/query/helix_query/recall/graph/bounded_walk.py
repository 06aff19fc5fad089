"""A walk of one or two hops from the seeds, for profiles without PageRank and graphs too dense for it.

Mass that arrives after h hops counts 1 / (1 + h). PageRank sums a longer series over the same edges. The
edges read are bounded, nodes with the most mass first, so the cost does not depend on the graph.
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
    """Mass of the nodes at most `hops` edges from `seeds` (distinct nodes), which start with `shares`.

    In each hop a node passes its mass to its neighbours by edge weight. A node without edges, with more
    than `hub_cap`, or beyond `edge_budget` edges in total, passes nothing. `kind_factors[kind]` scales the
    weight of an edge; all 1 when absent.
    """
    subgraph = LocalSubgraph(graph, seeds, hub_cap=hub_cap, kind_factors=kind_factors)
    arrived = normalised_shares(shares)
    mass = arrived
    for hop in range(1, hops + 1):
        passing = _affordable(subgraph, arrived, edge_budget=edge_budget)
        subgraph.read_edges(passing)
        pushed = np.zeros(len(subgraph.nodes))
        pushed[passing] = arrived[passing]
        arrived = subgraph.received(pushed)
        mass = subgraph.padded(mass) + arrived / (1 + hop)
    return subgraph.mass(mass)


def _affordable(
    subgraph: LocalSubgraph, arrived: NDArray[np.float64], *, edge_budget: int
) -> NDArray[np.int64]:
    """Local numbers of the nodes with mass, most first, as far as the edge budget reaches."""
    order = np.lexsort((subgraph.nodes, -arrived))
    sending = order[arrived[order] > 0]
    fits = subgraph.edges + np.cumsum(subgraph.unread(sending)) <= edge_budget
    return sending[fits]
