"""Predicates in the graph: two edges of a memory, read as one edge between two entities."""

from __future__ import annotations

from pathlib import Path

from helix_cli.output.graph_export import relations_in, to_networkx
from helix_shared.artifacts.graph.builder import GraphBuilder
from helix_shared.artifacts.graph.compaction import compact
from helix_shared.artifacts.graph.snapshot import EDGE_KINDS, GraphSnapshot

from .graphs import mention, snapshot


def stated(graph: GraphSnapshot, tenant_id: str) -> set[tuple[str, str, str, int]]:
    """Subject, predicate, object and memory of the relations of one tenant."""
    found = to_networkx(graph, tenant_id)
    name = {node: data["name"] for node, data in found.nodes(data=True)}
    return {
        (name[subject], data["kind"], name[obj], data["memory"])
        for subject, obj, data in found.edges(data=True)
        if "memory" in data
    }


def test_a_predicate_is_an_edge_between_its_subjects_and_objects(tmp_path: Path) -> None:
    """With its direction, and with the memory that states it; also of the last edge types."""
    builder = GraphBuilder.empty()
    names = [mention("ann", edge="WORKS_FOR_SUBJECT"), mention("bob", edge="WORKS_FOR_SUBJECT")]
    builder.set_links(0, "acme", [*names, mention("oakline", edge="WORKS_FOR_OBJECT"), mention("leeds")])
    builder.set_links(
        1, "acme", [mention("ann", edge="CREATED_SUBJECT"), mention("opera", edge="CREATED_OBJECT")]
    )
    graph = snapshot(builder, tmp_path / "g", memories=2)
    expected = {
        ("ann", "WORKS_FOR", "oakline", 0),
        ("bob", "WORKS_FOR", "oakline", 0),
        ("ann", "CREATED", "opera", 1),
    }
    assert stated(graph, "acme") == expected
    assert ("ann", "CREATED", "opera") in relations_in(to_networkx(graph, "acme"))
    base = compact(graph, tmp_path / "compacted")
    kinds = {EDGE_KINDS[kind] for kind in base.edge_kinds}
    assert kinds == {"WORKS_FOR_SUBJECT", "WORKS_FOR_OBJECT", "MENTIONS", "CREATED_SUBJECT", "CREATED_OBJECT"}


def test_entities_categories_and_predicates_are_of_one_tenant(tmp_path: Path) -> None:
    """The same names in two tenants are two entities: nothing leads from one tenant to the other."""
    builder = GraphBuilder.empty()
    works = [mention("ann", edge="WORKS_FOR_SUBJECT"), mention("oakline", edge="WORKS_FOR_OBJECT")]
    builder.set_links(0, "acme", [*works, mention("travel", edge="IN_CATEGORY", kind="category")])
    builder.set_links(1, "other", [mention("ann"), mention("travel", edge="IN_CATEGORY", kind="category")])
    graph = snapshot(builder, tmp_path / "g", memories=2)
    assert stated(graph, "acme") == {("ann", "WORKS_FOR", "oakline", 0)}
    assert stated(graph, "other") == set()
    names = ["ann", "travel"]
    mine, others = graph.entity_nodes("acme", names), graph.entity_nodes("other", names)
    assert len(mine) == len(others) == len(names)
    assert not set(mine.tolist()) & set(others.tolist())
    assert set(graph.edges_of(mine).targets.tolist()) == {0}
    assert set(graph.edges_of(others).targets.tolist()) == {1}
