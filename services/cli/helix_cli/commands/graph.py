"""`helix graph`: what the published graph holds of a tenant, to look at or to take elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import networkx as nx
import typer
from rich.console import Console
from rich.table import Table

from helix_cli.commands.options import DEFAULT_HOME, Home, Tenant
from helix_cli.output.graph_export import to_networkx
from helix_cli.output.terminal import plain
from helix_cli.stack.home import HomeFolder
from helix_shared.artifacts.generation.folders import GRAPH, current_number, folder_of
from helix_shared.artifacts.graph.snapshot import GraphSnapshot
from helix_shared.errors import NotFoundError

MOST_NAMED: Final = 15
HELP: Final = """
Show the entities that memories speak of most, or export the graph.

[dim]Reads the newest generation of this home; nothing has to run.[/]

  helix graph --tenant acme
  helix graph --tenant acme --out acme.graphml     for Gephi, yEd or networkx
"""


def graph_command(
    tenant: Tenant,
    out: Annotated[Path | None, typer.Option(help="Write the whole graph as GraphML here.")] = None,
    home: Home = DEFAULT_HOME,
) -> None:
    """Inspect or export the graph of one tenant."""
    data = HomeFolder.at(home).data
    number = current_number(data)
    if number is None:
        raise NotFoundError(f"{data} holds no generation yet; publish something first")
    graph = to_networkx(GraphSnapshot.open(folder_of(data, number) / GRAPH), tenant)
    console = Console()
    if out is not None:
        nx.write_graphml(graph, out)
        console.print(f"written {out}: {graph.number_of_nodes()} nodes, {graph.number_of_edges()} edges")
        return
    table = Table("entity", "kind", "links", box=None, header_style="bold")
    entities = [node for node in graph.nodes if graph.nodes[node]["kind"] != "memory"]
    for node in sorted(entities, key=graph.degree, reverse=True)[:MOST_NAMED]:
        table.add_row(plain(graph.nodes[node]["name"]), graph.nodes[node]["kind"], str(graph.degree[node]))
    console.print(table)
    console.print(f"generation {number}: {len(entities)} entities, {graph.number_of_edges()} edges")
