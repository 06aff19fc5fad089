"""Graph: what is around a memory or an entity, drawn here as SVG; without one, a list of entities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from helix_gateway.explorer.asked import memory_id
from helix_gateway.explorer.pages.layout import rings
from helix_gateway.explorer.rendering import url
from helix_gateway.explorer.shown import NAMED, one_line
from helix_memory import limits

if TYPE_CHECKING:
    from helix_gateway.explorer.asked import Asked
    from helix_gateway.explorer.pages.layout import Place
    from helix_memory.recall.v1 import recall_pb2

LABEL: Final = 24
TITLE: Final = 200
DECIDED: Final = ("UPDATES", "EXTENDS", "CONTRADICTS", "RELATES")
"""Kinds of edges between memories whose weight is how probable they are."""
REPLACING: Final = ("UPDATES", "CONTRADICTS", "CORRECTS")
"""Kinds whose lines have a colour of their own."""
LIKELY: Final = 0.5
FEW: Final = 60
"""Nodes of a graph that is easy to read; more on request."""


@dataclass(frozen=True, slots=True)
class Node:
    """A node of the picture."""

    place: Place
    label: str
    title: str
    address: str
    is_entity: bool
    hops: int


@dataclass(frozen=True, slots=True)
class Edge:
    """A line of the picture."""

    start: Place
    end: Place
    kind: str
    weight: float

    @property
    def unlikely(self) -> bool:
        """It is more likely not so: the weight of a decided relation is its probability."""
        return self.kind in DECIDED and self.weight < LIKELY


async def build(asked: Asked) -> dict[str, Any]:
    """The picture and the same as a list, or a page of entities to begin with."""
    around, entity = asked.text("around"), asked.text("entity")
    hops = asked.number("hops", 1, (1, limits.GRAPH_HOPS))
    nodes = asked.number("nodes", FEW, (1, limits.GRAPH_NODES))
    if not around and not entity:
        return await _entities(asked)
    middle: dict[str, Any] = {"entity": entity} if entity else {"around": memory_id("around", around)}
    found = await asked.helix.neighbours(hops=hops, nodes=nodes, **middle)
    middle_text = next((_text(one) for one in found.nodes if not one.hops), entity)
    layout = rings([one.hops for one in found.nodes], [(one.source, one.target) for one in found.edges])
    edges = [
        Edge(layout.places[one.source], layout.places[one.target], one.kind, one.weight)
        for one in found.edges
    ]
    return {
        "title": f"Graph around {one_line(middle_text, NAMED)}",
        "entities": None,
        "middle": middle_text,
        "found": found,
        "around": around,
        "entity": entity,
        "hops": hops,
        "count": nodes,
        "most": limits.GRAPH_NODES,
        "nodes": [_node(one, place) for one, place in zip(found.nodes, layout.places, strict=True)],
        "edges": edges,
        "unlikely": sum(one.unlikely for one in edges),
        "radius": layout.radius,
        "kinds": kinds(found.edges),
        "replacing": sorted({one.kind for one in edges if one.kind in REPLACING and not one.unlikely}),
        "truncated": found.truncated,
    }


async def _entities(asked: Asked) -> dict[str, Any]:
    found = await asked.helix.entities(page_size=100, **asked.page)
    return {"title": "Graph", "entities": found.entities, "next": found.next_page_token}


def _text(node: recall_pb2.GraphNode) -> str:
    """The text of a memory, or the name of an entity: a query service of earlier gives no display name."""
    return node.display_name or node.entity or node.memory.text


def _node(node: recall_pb2.GraphNode, place: Place) -> Node:
    text = _text(node)
    address = (
        url("/graph", entity=node.entity) if node.entity else url("/graph", around=node.memory.memory_id)
    )
    is_entity = bool(node.entity)
    return Node(place, one_line(text, LABEL), one_line(text, TITLE), address, is_entity, node.hops)


def kinds(edges: Sequence[recall_pb2.GraphEdge]) -> dict[str, int]:
    """How many edges of each kind there are."""
    found: dict[str, int] = {}
    for one in edges:
        found[one.kind] = found.get(one.kind, 0) + 1
    return dict(sorted(found.items()))
