"""The request of a Neighbours call, checked, and its task on one generation."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np

from helix_memory import limits
from helix_memory.recall import checks
from helix_memory.recall.v1 import recall_pb2
from helix_query.api.requests import scope_of
from helix_query.api.responses.recall import memory_message
from helix_query.listing.neighbours import neighbourhood, sees_entity
from helix_query.listing.visible import VisibleMemories
from helix_shared.artifacts.graph.base import ENTITIES_FROM
from helix_shared.errors import InvalidInputError, NotFoundError
from helix_shared.naming import canonical

if TYPE_CHECKING:
    from collections.abc import Mapping
    from concurrent.futures import Executor

    from helix_query.generations.snapshot import Snapshot
    from helix_query.listing.neighbours import Neighbourhood
    from helix_shared.artifacts.filter.selection import Selection


@dataclass(frozen=True, slots=True)
class NeighboursQuery:
    """The start node, the bounds, and the caller of a Neighbours call."""

    request: recall_pb2.NeighboursRequest
    selection: Selection
    hops: int
    nodes: int


def neighbours_query(request: recall_pb2.NeighboursRequest) -> NeighboursQuery:
    """What a Neighbours asks for.

    Raises:
        InvalidInputError: a field breaks its limit, or not exactly one middle is given.
    """
    if bool(request.memory_id) == bool(request.entity):
        raise InvalidInputError("memory_id", "exactly one of memory_id and entity must be given")
    if request.memory_id:
        checks.memory_id(request.memory_id)
    checks.name("entity", request.entity)
    return NeighboursQuery(
        request,
        scope_of(request.scope),
        checks.optional_number(request, "hops", limits.GRAPH_HOPS) or 1,
        checks.optional_number(request, "nodes", limits.GRAPH_NODES) or limits.GRAPH_NODES,
    )


def neighbours_reply(
    query: NeighboursQuery, snapshot: Snapshot, _lanes: Mapping[str, Executor], *, until: float
) -> recall_pb2.NeighboursResponse:
    """The reply to Neighbours.

    Raises:
        NotFoundError: there is no such memory or entity, or the caller may not see it.
        OverdueError: `until`, a moment of the monotonic clock, has passed.
    """
    visible = VisibleMemories.of(snapshot, query.selection, datetime.now(UTC), until=until)
    start = _start_node(query, snapshot, visible)
    found = neighbourhood(start, visible, hops=query.hops, most=query.nodes, until=until)
    nodes = _nodes(found, snapshot, visible)
    place = {node: number for number, node in enumerate(nodes)}
    edges = [
        recall_pb2.GraphEdge(
            source=place[one.source], target=place[one.target], kind=one.kind, weight=one.weight
        )
        for one in found.edges.values()
        if one.source in place and one.target in place
    ]
    return recall_pb2.NeighboursResponse(
        nodes=nodes.values(),
        edges=edges,
        truncated=found.truncated,
        generation=snapshot.number,
        stale=snapshot.is_stale(query.request.min_seq),
    )


def _start_node(query: NeighboursQuery, snapshot: Snapshot, visible: VisibleMemories) -> int:
    """The node that the request names; an entity may be named as people write it."""
    request, graph = query.request, snapshot.generation.graph
    if request.entity:
        names = [request.entity, canonical(request.entity)]
        for node in graph.entity_nodes(query.selection.tenant_id, names).tolist():
            if sees_entity(node, visible):
                return int(node)
        raise NotFoundError("no entity of this name is visible to this scope")
    ordinals = snapshot.ordinals_of([request.memory_id])
    if not len(ordinals) or not visible.is_visible(ordinals).all():
        raise NotFoundError(f"no memory {request.memory_id} is visible to this scope")
    return int(ordinals[0])


def _nodes(
    found: Neighbourhood, snapshot: Snapshot, visible: VisibleMemories
) -> dict[int, recall_pb2.GraphNode]:
    """Messages by node, in the order in which they were found."""
    ordinals = np.array([node for node in found.hops if node < ENTITIES_FROM], np.int64)
    entities = np.array([node for node in found.hops if node >= ENTITIES_FROM], np.int64)
    rows = {row["ordinal"]: (row, names) for row, names in visible.listed(ordinals)}
    shown = visible.display_names().of(entities)
    names = zip(snapshot.generation.graph.entity_names(entities), shown, strict=True)
    by_node = dict(zip(entities.tolist(), names, strict=True))
    nodes = {}
    for node, hops in found.hops.items():
        if node in by_node:
            name, display_name = by_node[node]
            nodes[node] = recall_pb2.GraphNode(entity=name, display_name=display_name, hops=hops)
        elif node in rows:
            nodes[node] = recall_pb2.GraphNode(memory=memory_message(*rows[node]), hops=hops)
    return nodes
