"""The graph: what was stated is what is stored, in both directions, and a restart changes nothing."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helix_cli.output.graph_export import to_networkx
from helix_shared.artifacts.graph.base import ENTITIES_FROM
from helix_shared.artifacts.graph.builder import LEAST_FOLDED, GraphBuilder
from helix_shared.artifacts.graph.fold import fold
from helix_shared.artifacts.graph.snapshot import EDGE_KINDS, GraphSnapshot, Link
from helix_shared.errors import CorruptArtifactError, InvalidInputError

MEMORIES = 6


def mention(name: str, *, weight: float = 1.0, edge: str = "MENTIONS", kind: str = "name") -> Link:
    """A link to an entity, written in capitals."""
    return Link(edge=edge, kind=kind, name=name, surface=name.title(), weight=weight)


def snapshot(builder: GraphBuilder, folder: Path, *, memories: int = MEMORIES) -> GraphSnapshot:
    """Write and open."""
    builder.write(folder, memories=memories)
    return GraphSnapshot.open(folder)


def files(folder: Path) -> list[Path]:
    """All files below a folder."""
    return sorted(path for path in folder.rglob("*") if path.is_file())


def edges_of(graph: GraphSnapshot) -> set[tuple[str, str, str, float]]:
    """The edges as stated, by names."""
    found = to_networkx(graph)
    name = {node: data["name"] for node, data in found.nodes(data=True)}
    return {
        (name[source], name[target], data["kind"], data["weight"])
        for source, target, data in found.edges(data=True)
    }


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
    """A memory's links are the last ones set; an entity nobody mentions is gone from the files."""
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
    """What pointed at it is gone too; related again afterwards, the new edge counts."""
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
    """The heavier of two equal links, the last of two equal relations."""
    builder = GraphBuilder.empty()
    builder.set_links(0, "acme", [mention("ann", weight=3.0), mention("ann", weight=1.0)])
    builder.relate(0, 1, "RELATES", 0.9)
    builder.relate(0, 1, "RELATES", 0.2)
    graph = snapshot(builder, tmp_path / "g")
    weights = graph.edges_of(graph.every_node()).weights
    assert sorted(weights.tolist()) == pytest.approx([0.2, 0.2, 3.0, 3.0])


statements = st.lists(
    st.one_of(
        st.tuples(
            st.just("links"),
            st.integers(0, MEMORIES - 1),
            st.lists(
                st.tuples(st.sampled_from("abc"), st.sampled_from(EDGE_KINDS[:3])), max_size=3, unique=True
            ),
        ),
        st.tuples(st.just("relate"), st.integers(0, MEMORIES - 1), st.integers(0, MEMORIES - 1)),
        st.tuples(st.just("remove"), st.integers(0, MEMORIES - 1), st.none()),
        st.tuples(st.sampled_from(["restart", "fold", "begin", "end"]), st.none(), st.none()),
    ),
    max_size=25,
)


@settings(max_examples=150, deadline=None)
@given(statements)
def test_any_history_gives_the_graph_a_plain_model_gives(
    tmp_path_factory: pytest.TempPathFactory, history: list[tuple[str, int, object]]
) -> None:
    """Links, relations, removals, restarts and folds in any order: base and delta are the model's graph."""
    folder = tmp_path_factory.mktemp("graph")
    builder = GraphBuilder.empty()
    model: nx.MultiDiGraph[str] = nx.MultiDiGraph()
    folding: GraphSnapshot | None = None
    for step, (act, ordinal, detail) in enumerate(history):
        if act == "restart":
            builder.write(folder / str(step), memories=MEMORIES)
            builder, folding = GraphBuilder.load(folder / str(step)), None
        elif act == "fold" and folding is None:
            builder.fold(folder / str(step), memories=MEMORIES)
        elif act == "begin" and folding is None:
            folding = snapshot(builder, folder / str(step))
            builder.begin_fold()
        elif act == "end" and folding is not None:
            builder.end_fold(fold(folding, folder / str(step)), folder / str(step))
            folding = None
        else:
            state(builder, model, step, (act, ordinal, detail))
    graph = snapshot(builder, folder / "last")
    check(graph, model)
    builder.fold(folder / "whole", memories=MEMORIES)
    check(snapshot(builder, folder / "folded"), model)


def state(
    builder: GraphBuilder, model: nx.MultiDiGraph[str], step: int, said: tuple[str, int, object]
) -> None:
    """Tell builder and model the same."""
    act, ordinal, detail = said
    if act == "remove":
        builder.remove(ordinal)
        model.remove_nodes_from([str(ordinal)])
    elif act == "relate" and ordinal != detail:
        builder.relate(ordinal, int(str(detail)), "RELATES", 1.0 + step)
        model.add_edge(str(ordinal), str(detail), key="RELATES", weight=1.0 + step)
    elif act == "links" and isinstance(detail, list):
        builder.set_links(ordinal, "acme", [mention(name, edge=edge) for name, edge in detail])
        old = [(u, v, key) for u, v, key in model.edges(str(ordinal), keys=True) if v.isalpha()]
        model.remove_edges_from(old)
        for name, edge in detail:
            model.add_edge(str(ordinal), name, key=edge, weight=1.0)


def check(graph: GraphSnapshot, model: nx.MultiDiGraph[str]) -> None:
    """Edges, degrees, counts and lookups are those of the model, both directions."""
    stated = {(u, v, key, data["weight"]) for u, v, key, data in model.edges(keys=True, data=True)}
    assert edges_of(graph) == stated
    named = sorted({v for _, v, _, _ in stated if v.isalpha()})
    assert (graph.entities, graph.edge_count) == (len(named), 2 * len(stated))
    assert graph.entity_names(graph.entity_nodes("acme", list("abc"))) == named
    nodes = graph.every_node()
    rows = graph.edges_of(nodes)
    assert graph.degrees(nodes).tolist() == rows.counts.tolist()
    dense = np.zeros((len(nodes), len(nodes)))
    place = {node: index for index, node in enumerate(nodes.tolist())}
    sources = np.repeat(np.arange(len(nodes)), rows.counts)
    np.add.at(dense, (sources, [place[node] for node in rows.targets.tolist()]), rows.weights)
    plain = nx.to_numpy_array(
        to_networkx(graph), nodelist=nodes.tolist(), weight="weight", multigraph_weight=sum
    )
    assert np.array_equal(dense, plain + plain.T)
    # one node at a time, backwards, gives what all at once give
    ends = np.cumsum(rows.counts)
    for index in reversed(range(len(nodes))):
        alone = graph.edges_of(nodes[index : index + 1])
        assert alone.targets.tolist() == rows.targets[ends[index] - rows.counts[index] : ends[index]].tolist()


@settings(max_examples=50, deadline=None)
@given(statements)
def test_a_folded_graph_does_not_tell_its_history(
    tmp_path_factory: pytest.TempPathFactory, history: list[tuple[str, int, object]]
) -> None:
    """Folded once or many times, the base is byte for byte the same."""
    folder = tmp_path_factory.mktemp("graph")
    often, once, model = GraphBuilder.empty(), GraphBuilder.empty(), nx.MultiDiGraph()
    for step, said in enumerate(history):
        for builder in (often, once):
            state(builder, model, step, said)
        often.fold(folder / f"often-{step}", memories=MEMORIES)
    for name, builder in (("often", often), ("once", once)):
        builder.fold(folder / name, memories=MEMORIES)
    for path in files(folder / "once"):
        assert path.read_bytes() == (folder / "often" / path.name).read_bytes(), path.name


def test_an_old_snapshot_stays_as_it_was(tmp_path: Path) -> None:
    """What is stated, removed and folded later changes nothing in a snapshot that was written before."""
    builder = GraphBuilder.empty()
    builder.set_links(0, "acme", [mention("ann"), mention("bob")])
    builder.relate(1, 0, "UPDATES", 1.0)
    builder.fold(tmp_path / "base", memories=MEMORIES)
    builder.set_links(2, "acme", [mention("ann")])
    old = snapshot(builder, tmp_path / "old")
    expected, contents = edges_of(old), {path: path.read_bytes() for path in files(tmp_path / "old")}
    builder.remove(0)
    builder.set_links(2, "acme", [mention("cyd")])
    new = GraphSnapshot.open(tmp_path / "old", previous=old.base)
    assert new.base is old.base
    builder.fold(tmp_path / "next", memories=MEMORIES)
    snapshot(builder, tmp_path / "new")
    assert edges_of(old) == edges_of(GraphSnapshot.open(tmp_path / "old")) == expected
    assert contents == {path: path.read_bytes() for path in files(tmp_path / "old")}


def test_a_fold_leaves_behind_what_nothing_mentions(tmp_path: Path) -> None:
    """An entity of the base is hidden when its last link goes, and gone from the files with the fold."""
    builder = GraphBuilder.empty()
    builder.set_links(0, "acme", [mention("secret"), mention("kept")])
    builder.set_links(1, "acme", [mention("kept")])
    builder.fold(tmp_path / "base", memories=2)
    builder.remove(0)
    graph = snapshot(builder, tmp_path / "g", memories=2)
    assert (graph.entity_nodes("acme", ["secret"]).tolist(), graph.entities, graph.edge_count) == ([], 1, 2)
    builder.fold(tmp_path / "again", memories=2)
    snapshot(builder, tmp_path / "whole", memories=2)
    assert not any(b"secret" in path.read_bytes().lower() for path in files(tmp_path / "whole"))


def test_a_large_delta_asks_for_a_fold(tmp_path: Path) -> None:
    """Not before it is large, nor while a fold is going on, and not again after it."""
    builder = GraphBuilder.empty()
    names = [mention(f"e{number}") for number in range(LEAST_FOLDED // 2)]
    builder.set_links(0, "acme", names)
    assert not builder.is_fold_due
    builder.set_links(1, "acme", names[:1])
    assert builder.is_fold_due
    builder.begin_fold()
    assert not builder.is_fold_due
    builder.end_fold(fold(snapshot(builder, tmp_path / "g"), tmp_path / "base"), tmp_path / "base")
    assert not builder.is_fold_due


def test_a_restart_writes_the_same_files(tmp_path: Path) -> None:
    """Loaded and written again, a snapshot is byte for byte the same."""
    builder = GraphBuilder.empty()
    for ordinal in range(MEMORIES):
        builder.set_links(ordinal, f"t{ordinal % 2}", [mention(f"e{ordinal % 4}"), mention("hub")])
    builder.relate(3, 1, "UPDATES", 1.0)
    builder.fold(tmp_path / "base", memories=MEMORIES)
    builder.set_links(2, "t0", [mention("e1"), mention("young")])
    builder.relate(3, 1, "UPDATES", 2.0)
    builder.write(tmp_path / "first", memories=MEMORIES)
    GraphBuilder.load(tmp_path / "first").write(tmp_path / "second", memories=MEMORIES)
    for path in files(tmp_path / "first"):
        other = tmp_path / "second" / path.relative_to(tmp_path / "first")
        assert path.read_bytes() == other.read_bytes(), path.name


def test_an_empty_graph_can_be_written_and_read(tmp_path: Path) -> None:
    """No memory, and memories without an edge."""
    empty = snapshot(GraphBuilder.empty(), tmp_path / "none", memories=0)
    assert (empty.memories, empty.edge_count, empty.entity_nodes("acme", ["ann"]).tolist()) == (0, 0, [])
    bare = snapshot(GraphBuilder.load(tmp_path / "none"), tmp_path / "bare", memories=3)
    assert (bare.degrees(np.arange(3)).tolist(), bare.entities_of(np.array([2, 0]))) == ([0, 0, 0], [(), ()])


def test_statements_that_make_no_sense_are_refused(tmp_path: Path) -> None:
    """Unknown edge types, weights that are not above zero, loops, and ordinals that do not exist."""
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


def test_files_that_do_not_fit_together_are_corrupt(tmp_path: Path) -> None:
    """A missing file, one of another type, and one of another length."""
    builder = GraphBuilder.empty()
    builder.set_links(0, "acme", [mention("ann")])
    builder.fold(tmp_path / "first", memories=1)
    builder.set_links(1, "acme", [mention("ann")])
    builder.write(tmp_path / "g", memories=2)
    delta, weights = tmp_path / "g" / "delta.arrow", tmp_path / "g" / "base" / "weights.npy"
    whole = weights.read_bytes()
    weights.unlink()
    for damaged in (np.ones(2, np.float64), np.ones(3, np.float32)):
        np.save(weights, damaged)
        with pytest.raises(CorruptArtifactError):
            GraphSnapshot.open(tmp_path / "g")
    weights.write_bytes(whole)
    GraphSnapshot.open(tmp_path / "g")
    snapshot(GraphBuilder.empty(), tmp_path / "other")
    for damaged_delta in ((tmp_path / "other" / "delta.arrow").read_bytes(), b"", delta.read_bytes()[:-9]):
        delta.write_bytes(damaged_delta)
        with pytest.raises(CorruptArtifactError):
            GraphSnapshot.open(tmp_path / "g")
    delta.unlink()
    with pytest.raises(CorruptArtifactError):
        GraphSnapshot.open(tmp_path / "g")


@pytest.mark.parametrize("is_folded", [False, True])
def test_a_relation_that_is_taken_back_is_gone(tmp_path: Path, *, is_folded: bool) -> None:
    """From the log or from the base; other edges of the memory stay, and it can be stated again."""
    builder = GraphBuilder.empty()
    for memory in range(3):
        builder.set_links(memory, "acme", [mention("ann")])
    builder.relate(1, 0, "RELATES", 0.9)
    builder.relate(2, 0, "UPDATES", 1.0)
    if is_folded:
        builder.fold(tmp_path / "base", memories=3)
    builder.unrelate(1, 0, "RELATES")
    builder.unrelate(2, 1, "RELATES")
    graph = snapshot(builder, tmp_path / "g", memories=3)
    kinds = Counter(data["kind"] for _, _, data in to_networkx(graph).edges(data=True))
    assert kinds == {"MENTIONS": 3, "UPDATES": 1}
    assert graph.edge_count == 8
    again = GraphBuilder.load(tmp_path / "g")
    again.relate(1, 0, "RELATES", 0.5)
    assert snapshot(again, tmp_path / "h", memories=3).edge_count == 10


@pytest.mark.parametrize("is_folded", [False, True])
def test_who_has_links_is_known_before_and_after_a_fold(tmp_path: Path, *, is_folded: bool) -> None:
    """What was linked and replaced by nothing has none."""
    builder = GraphBuilder.empty()
    builder.set_links(0, "acme", [mention("ann")])
    builder.set_links(1, "acme", [mention("ann")])
    if is_folded:
        builder.fold(tmp_path / "base", memories=3)
    builder.set_links(1, "acme", [])
    assert [builder.has_links(memory) for memory in range(3)] == [True, False, False]
