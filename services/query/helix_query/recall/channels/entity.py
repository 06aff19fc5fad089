"""The entity channel: memories linked to the entities a query names, and those one hop further.

Direct links score 1. One hop, a further edge of a memory or another entity that it mentions, scores
`hop` x strength; a path is as strong as its weakest edge, and at most 1. Nodes with more than `hub_cap`
edges are not passed. Work follows the edges read, never the corpus.
"""

from __future__ import annotations

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

Strengths = tuple["NDArray[np.int64]", "NDArray[np.float64]"]
"""Nodes, none twice, and the strength of the best path to each."""

MAX_NEIGHBOUR_ENTITIES: Final = 200
"""Neighbouring entities whose memories are read at most, the strongest first."""
MAX_WITH_COSINE: Final = 1_000
"""Candidates at most that get a cosine, which orders equal scores."""


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
) -> Strengths:
    linked, link = _passed(graph, (named, np.full(len(named), np.inf)), hub_cap=hub_cap)
    direct = linked[linked < memories], link[linked < memories]
    near, strength = _one_hop(
        _strongest(direct, limit), named, graph=graph, memories=memories, hub_cap=hub_cap
    )
    fresh = ~np.isin(near, direct[0])
    ordinals = np.concatenate([direct[0], near[fresh]])
    scores = np.concatenate([np.ones(len(direct[0])), hop * np.minimum(strength[fresh], 1.0)])
    best = np.lexsort((ordinals, -scores))[: max(MAX_WITH_COSINE, limit)]
    return ordinals[best], scores[best]


def _one_hop(
    direct: Strengths, named: NDArray[np.int64], *, graph: GraphSnapshot, memories: int, hub_cap: int
) -> Strengths:
    """Memories one edge from a direct one, or that share an entity with one."""
    nodes, strengths = _passed(graph, direct, hub_cap=hub_cap)
    related = nodes < memories
    shared = ~related & ~np.isin(nodes, named)
    sharing, path = _passed(
        graph, _strongest((nodes[shared], strengths[shared]), MAX_NEIGHBOUR_ENTITIES), hub_cap=hub_cap
    )
    ends = sharing < memories
    return _best_paths(
        np.concatenate([nodes[related], sharing[ends]]), np.concatenate([strengths[related], path[ends]])
    )


def _passed(graph: GraphSnapshot, reached: Strengths, *, hub_cap: int) -> Strengths:
    """Neighbours of the nodes reached, by the strongest path: the weaker of the path so far and the edge."""
    nodes, strengths = reached
    degrees = graph.degrees(nodes)
    open_nodes = (degrees > 0) & (degrees <= hub_cap)
    edges = graph.edges_of(nodes[open_nodes])
    path = np.minimum(np.repeat(strengths[open_nodes], edges.counts), edges.weights)
    return _best_paths(edges.targets, path)


def _best_paths(nodes: NDArray[np.int64], strengths: NDArray[np.float64]) -> Strengths:
    order = np.lexsort((-strengths, nodes))
    distinct, firsts = np.unique(nodes[order], return_index=True)
    return distinct, strengths[order][firsts]


def _strongest(reached: Strengths, count: int) -> Strengths:
    nodes, strengths = reached
    best = np.lexsort((nodes, -strengths))[:count]
    return nodes[best], strengths[best]


def _first_visible(ordinals: NDArray[np.int64], *, is_visible: Mask, limit: int) -> NDArray[np.int64]:
    """Places of the first `limit` visible ones, checked in batches: reading scopes costs a store access."""
    kept: list[int] = []
    for start in range(0, len(ordinals), limit):
        admitted = is_visible(ordinals[start : start + limit])
        kept += (start + np.flatnonzero(admitted)).tolist()
        if len(kept) >= limit:
            break
    return np.array(kept[:limit], np.int64)
