"""The graph around a memory or an entity, as far as the caller could recall its memories.

A memory is there if a recall could return it; an entity, if such a memory mentions it. Nodes come nearest
first, inside a distance the strongest edge first.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from helix_query.scheduling.deadline import check
from helix_shared.artifacts.graph.base import ENTITIES_FROM
from helix_shared.artifacts.graph.snapshot import EDGE_KINDS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helix_query.listing.visible import Visible

OF_A_NODE: Final = 4_096
"""Edges of one node that are looked at: the strongest."""


@dataclass(frozen=True, slots=True)
class Edge:
    """An edge between two nodes, in the direction in which it was stated."""

    source: int
    target: int
    kind: str
    weight: float


@dataclass(slots=True)
class Neighbourhood:
    """Nodes with their distance from the middle, and the edges between them."""

    hops: dict[int, int] = field(default_factory=dict)
    edges: dict[tuple[int, int, str], Edge] = field(default_factory=dict)
    truncated: bool = False
    """There are more nodes within the distance."""


def neighbourhood(start: int, visible: Visible, *, hops: int, most: int, until: float) -> Neighbourhood:
    """Up to `most` nodes within `hops` of a node that the caller may see.

    Raises:
        OverdueError: `until`, a moment of the monotonic clock, has passed.
    """
    found = Neighbourhood({start: 0})
    frontier = [start]
    for hop in range(1, hops + 1):
        reached: list[int] = []
        candidates = []
        for node in frontier:
            check(until)
            candidates += _edges_of(node, visible, found)
        for edge, other in sorted(candidates, key=lambda one: -one[0].weight):
            if other not in found.hops:
                if len(found.hops) >= most:
                    found.truncated = True
                    continue
                found.hops[other] = hop
                reached.append(other)
            found.edges[edge.source, edge.target, edge.kind] = edge
        frontier = reached
    return found


def sees_entity(node: int, visible: Visible) -> bool:
    """Whether a memory that the caller could recall mentions the entity."""
    targets = visible.snapshot.generation.graph.edges_of(np.array([node])).targets
    memories = targets[targets < ENTITIES_FROM]
    return bool(visible.among(memories).any())


def _edges_of(node: int, visible: Visible, found: Neighbourhood) -> list[tuple[Edge, int]]:
    """The strongest edges of a node to nodes that may be shown, each with the other node."""
    rows = visible.snapshot.generation.graph.edges_of(np.array([node]))
    strongest = np.argsort(-rows.weights, kind="stable")[:OF_A_NODE]
    targets = rows.targets[strongest]
    shown = _shown(targets, node, visible)
    edges = []
    for place, other in zip(strongest[shown].tolist(), targets[shown].tolist(), strict=True):
        source, target = (node, other) if rows.forward[place] else (other, node)
        kind, weight = EDGE_KINDS[int(rows.kinds[place])], float(rows.weights[place])
        if (source, target, kind) not in found.edges:
            edges.append((Edge(source, target, kind, weight), other))
    return edges


def _shown(targets: NDArray[np.int64], node: int, visible: Visible) -> NDArray[np.bool_]:
    """Which targets may be shown: visible memories, and the entities of a visible memory.

    Not what two entities have to do with each other: the graph does not tell whose memory says so.
    """
    memories = targets < ENTITIES_FROM
    shown = np.full(len(targets), node < ENTITIES_FROM)
    shown[memories] = visible.among(targets[memories])
    return shown
