"""The graph as a file for other programs."""

from pathlib import Path

import networkx as nx

from helix_cli.output.graph_export import write_graphml


def test_a_graph_with_any_names_can_be_read_by_others(tmp_path: Path) -> None:
    """XML has no way to write most control characters; a name from coloured output has one."""
    graph: nx.MultiDiGraph[int] = nx.MultiDiGraph()
    names = ["a.b/c\x1bd", "\ufffe<&\ud800", "Zoë 🚢\tx"]
    for node, name in enumerate(names):
        graph.add_node(node, tenant="acme", kind="path", name=name, label=name)
    graph.add_edge(0, 1, kind="uses", weight=1.0, memory=2)
    path = tmp_path / "acme.graphml"
    write_graphml(graph, path)
    read = nx.read_graphml(path, node_type=int)
    for key in ("name", "label"):
        assert [read.nodes[node][key] for node in range(3)] == ["a.b/c\ufffdd", "\ufffd<&\ufffd", "Zoë 🚢\tx"]
    assert [one["memory"] for *_, one in read.edges(data=True)] == [2]
    assert [graph.nodes[node]["name"] for node in range(3)] == names
