"""The entity channel: memories linked to the entities a query names, and those one hop further.

Direct links score 1. One hop, a further edge of a memory or another entity that it mentions, scores
`hop` x strength; a path is as strong as its weakest edge, and at most 1. Nodes with more than `hub_cap`
edges are not passed. Work follows the edges read, never the corpus.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from helix_query.recall.routing.route import names_in
from helix_shared.artifacts.hits import Hits

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helix_query.recall.candidates import Cosines
    from helix_query.recall.channels.plan import SearchPlan
    from helix_query.recall.context import RecallContext
    from helix_query.recall.visibility import Mask
    from helix_shared.artifacts.graph.snapshot import GraphSnapshot

MAX_NEIGHBOUR_ENTITIES: Final = 200
"""Neighbouring entities whose memories are read at most, the strongest first."""
MAX_WITH_COSINE: Final = 1_000
"""Candidates at most that get a cosine, which orders equal scores."""


@dataclass(frozen=True, slots=True)
class _Reached:
    """Nodes [n], none twice, and the strength of the best path to each [n]."""

    nodes: NDArray[np.int64]
    strengths: NDArray[np.float64]

    def only(self, kept: NDArray[np.bool_]) -> _Reached:
        """The nodes that a mask selects."""
        return _Reached(self.nodes[kept], self.strengths[kept])

    def strongest(self, count: int) -> _Reached:
        """The `count` nodes with the strongest paths; of equals the lowest numbers."""
        best = np.lexsort((self.nodes, -self.strengths))[:count]
        return _Reached(self.nodes[best], self.strengths[best])


class EntityChannel:
    """Finds memories by the entities the query names."""

    name: Final = "entity"

    def search(self, context: RecallContext, plan: SearchPlan) -> Hits:
        """The visible memories nearest in the graph to the entities that the words name."""
        generation = context.generation
        return linked_memories(
            context.snapshot.named_nodes(context.query.selection.tenant_id, names_in(plan.text)),
            graph=generation.graph,
            memories=generation.graph.memories,
            cosines=lambda ordinals: generation.signals.cosines(plan.vector(), ordinals),
            is_visible=context.visibility.is_visible,
            limit=plan.limit or context.limit_of(self.name),
            hub_cap=context.profile.expand.hub_cap,
            hop=context.profile.retrieve.entity_hop,
        )


def linked_memories(
    named: NDArray[np.int64],
    *,
    graph: GraphSnapshot,
    memories: int,
    cosines: Cosines,
    is_visible: Mask,
    limit: int,
    hub_cap: int = 100,
    hop: float = 0.5,
) -> Hits:
    """Up to `limit` visible memories, best first; equal scores by cosine, then ordinal.

    `named` are the nodes of entities in the query; nodes below `memories` are ordinals.
    """
    ordinals, scores = _scored(named, graph=graph, memories=memories, limit=limit, hub_cap=hub_cap, hop=hop)
    if not len(ordinals):
        return Hits.none()
    order = np.lexsort((ordinals, -cosines(ordinals), -scores))
    ordinals, scores = ordinals[order], scores[order]
    kept = _first_visible(ordinals, is_visible=is_visible, limit=limit)
    return Hits(ordinals[kept], scores[kept].astype(np.float32))


def _scored(
    named: NDArray[np.int64], *, graph: GraphSnapshot, memories: int, limit: int, hub_cap: int, hop: float
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Ordinals of the memories to rank, and their scores."""
    linked = _neighbours(graph, _Reached(named, np.full(len(named), np.inf)), hub_cap=hub_cap)
    direct = linked.only(linked.nodes < memories)
    near = _one_hop(direct.strongest(limit), named, graph=graph, memories=memories, hub_cap=hub_cap)
    near = near.only(~np.isin(near.nodes, direct.nodes))
    ordinals = np.concatenate([direct.nodes, near.nodes])
    scores = np.concatenate([np.ones(len(direct.nodes)), hop * np.minimum(near.strengths, 1.0)])
    best = np.lexsort((ordinals, -scores))[: max(MAX_WITH_COSINE, limit)]
    return ordinals[best], scores[best]


def _one_hop(
    direct: _Reached, named: NDArray[np.int64], *, graph: GraphSnapshot, memories: int, hub_cap: int
) -> _Reached:
    """Memories one edge from a direct one, or that share an entity with one."""
    reached = _neighbours(graph, direct, hub_cap=hub_cap)
    is_memory = reached.nodes < memories
    shared = reached.only(~is_memory & ~np.isin(reached.nodes, named)).strongest(MAX_NEIGHBOUR_ENTITIES)
    sharing = _neighbours(graph, shared, hub_cap=hub_cap)
    sharing, related = sharing.only(sharing.nodes < memories), reached.only(is_memory)
    return _best_paths(
        np.concatenate([related.nodes, sharing.nodes]),
        np.concatenate([related.strengths, sharing.strengths]),
    )


def _neighbours(graph: GraphSnapshot, reached: _Reached, *, hub_cap: int) -> _Reached:
    """Nodes one edge further, by the strongest path: the weaker of the path so far and the edge."""
    degrees = graph.degrees(reached.nodes)
    passable = reached.only((degrees > 0) & (degrees <= hub_cap))
    edges = graph.edges_of(passable.nodes)
    path = np.minimum(np.repeat(passable.strengths, edges.counts), edges.weights)
    return _best_paths(edges.targets, path)


def _best_paths(nodes: NDArray[np.int64], strengths: NDArray[np.float64]) -> _Reached:
    order = np.lexsort((-strengths, nodes))
    distinct, firsts = np.unique(nodes[order], return_index=True)
    return _Reached(distinct, strengths[order][firsts])


def _first_visible(ordinals: NDArray[np.int64], *, is_visible: Mask, limit: int) -> NDArray[np.int64]:
    """Places of the first `limit` visible ones, checked in batches: reading scopes costs a store access."""
    kept: list[int] = []
    for start in range(0, len(ordinals), limit):
        admitted = is_visible(ordinals[start : start + limit])
        kept += (start + np.flatnonzero(admitted)).tolist()
        if len(kept) >= limit:
            break
    return np.array(kept[:limit], np.int64)
