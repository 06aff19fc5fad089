"""Stated links are stored in both directions."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from helix_cli.output.graph_export import to_networkx
from helix_shared.artifacts.graph.base import ENTITIES_FROM
from helix_shared.artifacts.graph.builder import GraphBuilder
from helix_shared.artifacts.graph.snapshot import EDGE_KINDS
from helix_shared.errors import InvalidInputError

from .graphs import edges_of, files, mention, snapshot


def test_links_and_relations_are_stored_in_both_directions(tmp_path: Path) -> None:
    """A worked example: two memories share an entity, one updates the other."""
    builder = GraphBuilder.empty()
    builder.set_links(0, "acme", [mention("ann"), mention("bob", weight=2.0)])
    builder.set_links(2, "acme", [mention("ann", edge="PART_OF")])
    builder.relate(2, 0, "UPDATES", 0.5)
    graph = snapshot(builder, tmp_path / "g", memories=3)
    ann, bob = graph.entity_nodes("acme", ["ann", "bob"]).tolist()
    assert sorted((ann, bob)) == [ENTITIES_FROM, ENTITIES_FROM + 1]
    assert (graph.memories, graph.entities, graph.edge_count) == (3, 2, 8)
    assert graph.degrees(np.array([0, 1, 2, ann, bob])).tolist() == [3, 0, 2, 2, 1]
    rows = graph.edges_of(np.array([ann]))
    assert rows.targets.tolist() == [0, 2]
    assert [EDGE_KINDS[kind] for kind in rows.kinds] == ["MENTIONS", "PART_OF"]
    assert edges_of(graph) == {
        ("0", "ann", "MENTIONS", 1.0),
        ("0", "bob", "MENTIONS", 2.0),
        ("2", "ann", "PART_OF", 1.0),
        ("2", "0", "UPDATES", 0.5),
    }


def test_entities_are_looked_up_by_tenant_and_name(tmp_path: Path) -> None:
    """Two tenants with the same name have two entities, and neither finds the other's."""
    builder = GraphBuilder.empty()
    builder.set_links(0, "acme", [mention("ann"), mention("zoë")])
    builder.set_links(1, "other", [mention("ann")])
    graph = snapshot(builder, tmp_path / "g")
    acme, other = graph.entity_nodes("acme", ["ann"]), graph.entity_nodes("other", ["ann"])
    assert acme.tolist() != other.tolist()
    assert graph.entity_nodes("acme", ["nobody", "zoë", "ann", "ann"]).tolist() == [
        *graph.entity_nodes("acme", ["zoë"]).tolist(),
        *acme.tolist(),
    ]
    assert graph.entity_names(graph.entity_nodes("acme", ["zoë", "ann"])) == ["zoë", "ann"]
    assert sorted(graph.entities_of(np.array([0, 1]))[0]) == ["ann", "zoë"]
    assert graph.entity_nodes("absent", ["ann"]).tolist() == graph.entity_nodes("acme", []).tolist() == []
    assert set(to_networkx(graph, "other").nodes) == {1, *other.tolist()}
    assert not to_networkx(graph, "absent").nodes


def test_setting_links_replaces_them(tmp_path: Path) -> None:
    """A memory has the links that were set last; an entity without links is not in the files."""
    builder = GraphBuilder.empty()
    builder.set_links(0, "acme", [mention("secret"), mention("kept")])
    builder.set_links(1, "acme", [mention("kept")])
    builder.relate(0, 1, "RELATES", 1.0)
    builder.set_links(0, "acme", [mention("new")])
    graph = snapshot(builder, tmp_path / "g")
    assert edges_of(graph) == {
        ("0", "new", "MENTIONS", 1.0),
        ("1", "kept", "MENTIONS", 1.0),
        ("0", "1", "RELATES", 1.0),
    }
    assert not any(b"secret" in path.read_bytes().lower() for path in files(tmp_path / "g"))


def test_removing_a_memory_removes_its_edges_in_both_directions(tmp_path: Path) -> None:
    """Edges to it are removed too; an edge that is stated afterwards counts."""
    builder = GraphBuilder.empty()
    builder.set_links(1, "acme", [mention("ann")])
    builder.relate(0, 1, "UPDATES", 1.0)
    builder.relate(1, 2, "EXTENDS", 1.0)
    builder.relate(0, 2, "RELATES", 1.0)
    builder.remove(1)
    assert edges_of(snapshot(builder, tmp_path / "g")) == {("0", "2", "RELATES", 1.0)}
    builder.relate(0, 1, "DERIVES", 1.0)
    again = snapshot(builder, tmp_path / "again")
    assert edges_of(again) == {("0", "2", "RELATES", 1.0), ("0", "1", "DERIVES", 1.0)}


def test_a_repeated_statement_counts_once(tmp_path: Path) -> None:
    """Of two equal links the heavier counts, of two equal relations the last."""
    builder = GraphBuilder.empty()
    builder.set_links(0, "acme", [mention("ann", weight=3.0), mention("ann", weight=1.0)])
    builder.relate(0, 1, "RELATES", 0.9)
    builder.relate(0, 1, "RELATES", 0.2)
    graph = snapshot(builder, tmp_path / "g")
    weights = graph.edges_of(graph.every_node()).weights
    assert sorted(weights.tolist()) == pytest.approx([0.2, 0.2, 3.0, 3.0])


@pytest.mark.parametrize("is_compacted", [False, True])
def test_a_removed_relation_is_not_in_the_graph(tmp_path: Path, *, is_compacted: bool) -> None:
    """Before and after a compaction; other edges of the memory stay, and the relation can be stated again."""
    builder = GraphBuilder.empty()
    for memory in range(3):
        builder.set_links(memory, "acme", [mention("ann")])
    builder.relate(1, 0, "RELATES", 0.9)
    builder.relate(2, 0, "UPDATES", 1.0)
    if is_compacted:
        builder.compact(tmp_path / "base", memories=3)
    builder.unrelate(1, 0, "RELATES")
    builder.unrelate(2, 1, "RELATES")
    graph = snapshot(builder, tmp_path / "g", memories=3)
    kinds = Counter(data["kind"] for _, _, data in to_networkx(graph).edges(data=True))
    assert kinds == {"MENTIONS": 3, "UPDATES": 1}
    assert graph.edge_count == 8
    again = GraphBuilder.load(tmp_path / "g")
    again.relate(1, 0, "RELATES", 0.5)
    assert snapshot(again, tmp_path / "h", memories=3).edge_count == 10


@pytest.mark.parametrize("is_compacted", [False, True])
def test_has_links_is_the_same_before_and_after_a_compaction(tmp_path: Path, *, is_compacted: bool) -> None:
    """A memory whose links were replaced by no links has none."""
    builder = GraphBuilder.empty()
    builder.set_links(0, "acme", [mention("ann")])
    builder.set_links(1, "acme", [mention("ann")])
    if is_compacted:
        builder.compact(tmp_path / "base", memories=3)
    builder.set_links(1, "acme", [])
    assert [builder.has_links(memory) for memory in range(3)] == [True, False, False]


def test_an_empty_graph_can_be_written_and_read(tmp_path: Path) -> None:
    """A graph without memories, and one without edges."""
    empty = snapshot(GraphBuilder.empty(), tmp_path / "none", memories=0)
    assert (empty.memories, empty.edge_count, empty.entity_nodes("acme", ["ann"]).tolist()) == (0, 0, [])
    bare = snapshot(GraphBuilder.load(tmp_path / "none"), tmp_path / "bare", memories=3)
    assert (bare.degrees(np.arange(3)).tolist(), bare.entities_of(np.array([2, 0]))) == ([0, 0, 0], [(), ()])


def test_invalid_statements_are_refused(tmp_path: Path) -> None:
    """Unknown edge types, weights that are not above zero, loops and unknown ordinals are refused."""
    builder = GraphBuilder.empty()
    with pytest.raises(InvalidInputError, match=r"^edge: "):
        builder.set_links(0, "acme", [mention("ann", edge="LIKES")])
    for weight in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(InvalidInputError, match=r"^weight: "):
            builder.relate(0, 1, "RELATES", weight)
    with pytest.raises(InvalidInputError, match=r"^target: "):
        builder.relate(1, 1, "RELATES", 1.0)
    builder.relate(0, 9, "RELATES", 1.0)
    with pytest.raises(InvalidInputError, match=r"^memories: "):
        builder.write(tmp_path / "g", memories=9)
