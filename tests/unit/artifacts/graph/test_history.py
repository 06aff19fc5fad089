"""Any history of statements, restarts and compactions gives the graph of a networkx model."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helix_cli.output.graph_export import to_networkx
from helix_shared.artifacts.graph.builder import GraphBuilder
from helix_shared.artifacts.graph.compaction import compact
from helix_shared.artifacts.graph.snapshot import EDGE_KINDS, GraphSnapshot
from tests.examples import examples

from .graphs import MEMORIES, edges_of, files, mention, snapshot

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
        st.tuples(st.sampled_from(["restart", "compact", "begin", "end"]), st.none(), st.none()),
    ),
    max_size=25,
)


@settings(max_examples=examples(150), deadline=None)
@given(statements)
def test_any_history_gives_the_graph_of_a_model(
    tmp_path_factory: pytest.TempPathFactory, history: list[tuple[str, int, object]]
) -> None:
    """Changes, restarts and compactions in any order give the graph of a networkx model."""
    folder = tmp_path_factory.mktemp("graph")
    builder = GraphBuilder.empty()
    model: nx.MultiDiGraph[str] = nx.MultiDiGraph()
    compacting: GraphSnapshot | None = None
    for step, (act, ordinal, detail) in enumerate(history):
        if act == "restart":
            builder.write(folder / str(step), memories=MEMORIES)
            builder, compacting = GraphBuilder.load(folder / str(step)), None
        elif act == "compact" and compacting is None:
            builder.compact(folder / str(step), memories=MEMORIES)
        elif act == "begin" and compacting is None:
            compacting = snapshot(builder, folder / str(step))
            builder.begin_compaction()
        elif act == "end" and compacting is not None:
            builder.end_compaction(compact(compacting, folder / str(step)), folder / str(step))
            compacting = None
        else:
            state(builder, model, step, (act, ordinal, detail))
    graph = snapshot(builder, folder / "last")
    check(graph, model)
    builder.compact(folder / "whole", memories=MEMORIES)
    check(snapshot(builder, folder / "compacted"), model)


def state(
    builder: GraphBuilder, model: nx.MultiDiGraph[str], step: int, said: tuple[str, int, object]
) -> None:
    """Apply one statement to the builder and to the model."""
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
    """Edges, degrees, counts and lookups equal those of the model, in both directions."""
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


@settings(max_examples=examples(50), deadline=None)
@given(statements)
def test_the_files_of_a_compaction_do_not_depend_on_history(
    tmp_path_factory: pytest.TempPathFactory, history: list[tuple[str, int, object]]
) -> None:
    """One compaction and many compactions write the same bytes."""
    folder = tmp_path_factory.mktemp("graph")
    often, once, model = GraphBuilder.empty(), GraphBuilder.empty(), nx.MultiDiGraph()
    for step, said in enumerate(history):
        for builder in (often, once):
            state(builder, model, step, said)
        often.compact(folder / f"often-{step}", memories=MEMORIES)
    for name, builder in (("often", often), ("once", once)):
        builder.compact(folder / name, memories=MEMORIES)
    for path in files(folder / "once"):
        assert path.read_bytes() == (folder / "often" / path.name).read_bytes(), path.name
