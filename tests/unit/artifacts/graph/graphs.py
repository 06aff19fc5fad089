"""Links and snapshots for the tests of the graph."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from helix_cli.output.graph_export import to_networkx
from helix_shared.artifacts.graph.builder import GraphBuilder
from helix_shared.artifacts.graph.snapshot import GraphSnapshot, Link

MEMORIES: Final = 6


def mention(name: str, *, weight: float = 1.0, edge: str = "MENTIONS", kind: str = "name") -> Link:
    """A link to an entity; the surface is in title case."""
    return Link(edge=edge, kind=kind, name=name, surface=name.title(), weight=weight)


def snapshot(builder: GraphBuilder, folder: Path, *, memories: int = MEMORIES) -> GraphSnapshot:
    """Write a snapshot and open it."""
    builder.write(folder, memories=memories)
    return GraphSnapshot.open(folder)


def files(folder: Path) -> list[Path]:
    """All files below a folder."""
    return sorted(path for path in folder.rglob("*") if path.is_file())


def edges_of(graph: GraphSnapshot) -> set[tuple[str, str, str, float]]:
    """The edges in the direction they were stated, by names."""
    found = to_networkx(graph)
    name = {node: data["name"] for node, data in found.nodes(data=True)}
    return {
        (name[source], name[target], data["kind"], data["weight"])
        for source, target, data in found.edges(data=True)
    }
