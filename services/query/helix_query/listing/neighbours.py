"""The graph around a memory or an entity, as far as the caller could recall its memories.

A memory is there if a recall could return it; an entity, if such a memory mentions it. Nodes come nearest
first, inside a distance the strongest edge first.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from helix_query.scheduling.deadline import raise_if_overdue
from helix_shared.artifacts.graph.base import ENTITIES_FROM, flat
from helix_shared.artifacts.graph.snapshot import EDGE_KINDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from helix_query.listing.visible import VisibleMemories
    from helix_shared.artifacts.graph.snapshot import EdgeRows

MAX_EDGES_OF_NODE: Final = 4_096
"""Edges of one node that are followed: the strongest of those that may be shown."""
FIRST_READ_FACTOR: Final = 2
"""Multiple of `MAX_EDGES_OF_NODE` whose targets are checked at first, of a node with more edges."""
FIRST_BLOCK: Final = 1_024
"""Targets checked first, then twice as many and so on, where one that may be shown is enough."""


@dataclass(frozen=True, slots=True)
class Edge:
    """An edge between two nodes, in the direction in which it was stated."""

    source: int
    target: int
    kind: str
    weight: float


@dataclass(frozen=True, slots=True)
class NodeEdges:
    """Edges [n] of some nodes, the strongest first, at most `MAX_EDGES_OF_NODE` of each."""

    nodes: NDArray[np.int64]
    others: NDArray[np.int64]
    weights: NDArray[np.float32]
    kinds: NDArray[np.uint8]
    forward: NDArray[np.bool_]
    """Whether the edge was stated from the node to the other."""
    leave_out_others_than: Callable[[NDArray[np.int64]], bool]
    """Whether weaker edges lead to a node that may be shown and is not one of these."""

    def at(self, place: int) -> Edge:
        """One of them, in the direction in which it was stated."""
        node, other = int(self.nodes[place]), int(self.others[place])
        source, target = (node, other) if self.forward[place] else (other, node)
        return Edge(source, target, EDGE_KINDS[int(self.kinds[place])], float(self.weights[place]))


@dataclass(slots=True)
class Neighbourhood:
    """Nodes with their distance from the middle, and the edges between them."""

    hops: dict[int, int] = field(default_factory=dict)
    edges: dict[tuple[int, int, str], Edge] = field(default_factory=dict)
    truncated: bool = False
    """There are more nodes within the distance."""

    def extend(self, edges: NodeEdges, hop: int, most: int) -> list[int]:
        """Add up to `most` nodes in all and the edges between them; returns the new nodes, in order."""
        distinct, firsts = np.unique(edges.others, return_index=True)
        is_new = ~np.isin(distinct, np.fromiter(self.hops, np.int64))
        reached = edges.others[np.sort(firsts[is_new])]
        self.truncated |= len(self.hops) + len(reached) > most
        reached = reached[: most - len(self.hops)]
        self.hops.update(dict.fromkeys(reached.tolist(), hop))
        within = np.fromiter(self.hops, np.int64)
        self.truncated = self.truncated or edges.leave_out_others_than(within)
        kept = np.isin(edges.others, within)
        for place in np.flatnonzero(kept).tolist():
            edge = edges.at(place)
            self.edges[edge.source, edge.target, edge.kind] = edge
        return [int(node) for node in reached]


def neighbourhood(
    start: int, visible: VisibleMemories, *, hops: int, most: int, until: float
) -> Neighbourhood:
    """Up to `most` nodes within `hops` of a node that the caller may see.

    Raises:
        OverdueError: `until`, a moment of the monotonic clock, has passed.
    """
    found = Neighbourhood({start: 0})
    frontier = [start]
    for hop in range(1, hops + 1):
        if not frontier:
            break
        raise_if_overdue(until)
        edges = _edges_of(np.array(frontier), visible)
        frontier = found.extend(edges, hop, most)
    return found


def sees_entity(node: int, visible: VisibleMemories) -> bool:
    """Whether a memory that the caller could recall mentions the entity."""
    _, targets = visible.snapshot.generation.graph.targets_of(np.array([node]))
    memories = targets[targets < ENTITIES_FROM]
    return any(visible.is_visible(some).any() for some in _blocks(memories))


def _edges_of(nodes: NDArray[np.int64], visible: VisibleMemories) -> NodeEdges:
    """The strongest edges of each of `nodes` among those to nodes that may be shown."""
    rows = visible.snapshot.generation.graph.edges_of(nodes)
    owners = np.repeat(np.arange(len(nodes)), rows.counts)
    most = np.full(len(nodes), FIRST_READ_FACTOR * MAX_EDGES_OF_NODE)
    while True:
        read = _strongest(rows, most)
        chosen = read[_may_be_shown(rows.targets[read], nodes[owners[read]], visible)]
        found = np.bincount(owners[chosen], minlength=len(nodes))
        is_short = (rows.counts > most) & (found < MAX_EDGES_OF_NODE)
        if not is_short.any():
            break
        most[is_short] *= 4
    chosen = chosen[np.argsort(-rows.weights[chosen], kind="stable")]
    is_strong = np.ones(len(chosen), np.bool_)
    if (found > MAX_EDGES_OF_NODE).any():
        by_node = np.argsort(owners[chosen], kind="stable")
        grouped = owners[chosen[by_node]]
        is_strong[by_node] = np.arange(len(chosen)) - grouped.searchsorted(grouped) < MAX_EDGES_OF_NODE
    weaker, chosen = chosen[~is_strong], chosen[is_strong]

    def leave_out_others_than(within: NDArray[np.int64]) -> bool:
        if not np.isin(rows.targets[weaker], within).all():
            return True
        is_unread = np.ones(len(owners), np.bool_)
        is_unread[read] = False
        unread = np.flatnonzero(is_unread)
        unread = unread[~np.isin(rows.targets[unread], within)]
        return any(
            _may_be_shown(rows.targets[some], nodes[owners[some]], visible).any() for some in _blocks(unread)
        )

    return NodeEdges(
        nodes[owners[chosen]],
        rows.targets[chosen],
        rows.weights[chosen],
        rows.kinds[chosen],
        rows.forward[chosen],
        leave_out_others_than,
    )


def _strongest(rows: EdgeRows, most: NDArray[np.int64]) -> NDArray[np.int64]:
    """Places, ascending, of the `most` [n] strongest edges of each node; of equals the first."""
    starts = np.cumsum(rows.counts) - rows.counts
    is_small = rows.counts <= most
    parts = [flat(starts[is_small], rows.counts[is_small])]
    for node in np.flatnonzero(~is_small).tolist():
        start, count, wanted = int(starts[node]), int(rows.counts[node]), int(most[node])
        weights = rows.weights[start : start + count]
        least = np.partition(weights, count - wanted)[count - wanted]
        stronger = np.flatnonzero(weights > least)
        equal = np.flatnonzero(weights == least)[: wanted - len(stronger)]
        parts += [start + stronger, start + equal]
    return np.sort(np.concatenate(parts), kind="stable")


def _blocks(values: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    start, size = 0, FIRST_BLOCK
    while start < len(values):
        yield values[start : start + size]
        start, size = start + size, 2 * size


def _may_be_shown(
    targets: NDArray[np.int64], nodes: NDArray[np.int64], visible: VisibleMemories
) -> NDArray[np.bool_]:
    """Which targets of edges of `nodes` may be shown: visible memories, and the entities of a visible memory.

    An edge between two entities is never shown: the graph does not say which memory states it.
    """
    memories = targets < ENTITIES_FROM
    shown: NDArray[np.bool_] = nodes < ENTITIES_FROM
    shown[memories] = visible.is_visible(targets[memories])
    return shown
