"""The graph of a generation as a networkx graph, for `helix graph` and for tests.

networkx costs .4 s to import, so no serving process imports this module.
"""

from __future__ import annotations

import re
from itertools import product
from typing import TYPE_CHECKING, Final

import networkx as nx
import numpy as np

from helix_memory.vocabulary.predicates import OBJECT, PREDICATES, SIDES, SUBJECT
from helix_query.listing.display_names import DisplayNames
from helix_shared.artifacts.graph.snapshot import EDGE_KINDS, NO_TENANT, GraphSnapshot

if TYPE_CHECKING:
    from pathlib import Path

_NOT_IN_XML: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def to_networkx(snapshot: GraphSnapshot, tenant_id: str | None = None) -> nx.MultiDiGraph[int]:
    """The edges in the direction they were stated; only the nodes of one tenant if `tenant_id` is given.

    Nodes carry `kind` ("memory" or the kind of the entity), `name` and `tenant`, those of entities a `label`
    after `add_labels`; edges `kind` and `weight`. A predicate is also an edge from its subject to its object,
    with the ordinal of the `memory` stating it.
    """
    nodes = snapshot.every_node()
    entities, names = nodes[snapshot.memories :], snapshot.delta.tenants
    tenants = np.concatenate(
        [snapshot.memory_tenants(), np.array(snapshot.entity_column(entities, "tenant"), int)]
    )
    code = names.index(tenant_id) if tenant_id in names else NO_TENANT
    kept = np.ones(len(nodes), bool) if tenant_id is None else (tenants == code) & (tenants != NO_TENANT)
    kinds = ["memory"] * snapshot.memories + snapshot.entity_column(entities, "kind")
    labels = [str(ordinal) for ordinal in range(snapshot.memories)] + snapshot.entity_column(entities, "name")
    graph: nx.MultiDiGraph[int] = nx.MultiDiGraph()
    for index in np.flatnonzero(kept).tolist():
        tenant = names[tenants[index]] if tenants[index] != NO_TENANT else ""
        graph.add_node(int(nodes[index]), tenant=tenant, kind=kinds[index], name=labels[index])
    rows = snapshot.edges_of(nodes[kept])
    sources = np.repeat(nodes[kept], rows.counts)
    stated = np.flatnonzero(rows.forward & np.isin(rows.targets, nodes[kept]))
    for edge in stated.tolist():
        kind, weight = EDGE_KINDS[rows.kinds[edge]], float(rows.weights[edge])
        graph.add_edge(int(sources[edge]), int(rows.targets[edge]), kind=kind, weight=weight)
    _add_predicates(graph)
    return graph


def relations_in(graph: nx.MultiDiGraph[int]) -> list[tuple[str, str, str]]:
    """Subject, predicate and object of the relations between entities, by name."""
    return [
        (graph.nodes[subject]["name"], predicate, graph.nodes[obj]["name"])
        for subject, predicate, obj in relations_between(graph)
    ]


def relations_between(graph: nx.MultiDiGraph[int]) -> list[tuple[int, str, int]]:
    """As `relations_in`, by node."""
    return [
        (subject, stated["kind"], obj)
        for subject, obj, stated in graph.edges(data=True)
        if stated["kind"] in PREDICATES
    ]


def add_labels(graph: nx.MultiDiGraph[int], names: DisplayNames, entities: list[int]) -> None:
    """Give these entities the names that people write as their `label`."""
    found = names.of(np.array(entities, np.int64))
    nx.set_node_attributes(graph, dict(zip(entities, found, strict=True)), "label")


def write_graphml(graph: nx.MultiDiGraph[int], path: Path) -> None:
    """Write the graph as GraphML, with U+FFFD for what XML may not hold.

    A name may have such characters: those with which a program colours its output stay in what it said.

    Raises:
        OSError: the file cannot be written.
    """
    written = graph.copy()
    for _, stated in written.nodes(data=True):
        stated |= {name: _NOT_IN_XML.sub("\ufffd", value) for name, value in stated.items()}
    nx.write_graphml(written, path)


def _add_predicates(graph: nx.MultiDiGraph[int]) -> None:
    """Add an edge for each subject and object of a predicate that the same memory states."""
    ends: dict[tuple[int, str], list[int]] = {}
    for memory, entity, stated in graph.edges(data=True):
        if stated["kind"] in SIDES:
            ends.setdefault((memory, stated["kind"]), []).append(entity)
    for (memory, kind), subjects in ends.items():
        predicate = kind.removesuffix(SUBJECT)
        if predicate != kind:
            for subject, obj in product(subjects, ends.get((memory, predicate + OBJECT), [])):
                graph.add_edge(subject, obj, kind=predicate, weight=1.0, memory=memory)
