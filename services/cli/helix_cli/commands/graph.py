"""`helix graph`: shows or exports the graph of one tenant from the newest generation of a home."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import networkx as nx
import typer
from rich.table import Table

from helix_cli.commands.common.options import DEFAULT_HOME, Home, Tenant
from helix_cli.commands.group import help_text
from helix_cli.output.graph_export import relations_in, to_networkx
from helix_cli.output.terminal import plain, stdout
from helix_cli.stack.home import HomeFolder
from helix_shared.artifacts.generation.folders import GRAPH, current_number, folder_of
from helix_shared.artifacts.graph.snapshot import GraphSnapshot
from helix_shared.errors import NotFoundError

SHOWN: Final = 15
"""Entities in the table, and relations between entities below it."""
HELP: Final = """
[bold]Examples[/bold]

  helix graph --tenant acme
  helix graph --tenant acme --out acme.graphml     (for Gephi, yEd or networkx)

Reads the newest generation of this home. No service needs to run.
"""

app = typer.Typer(add_completion=False)


@app.command(help=help_text("graph", HELP))
def graph_command(
    tenant: Tenant,
    out: Annotated[Path | None, typer.Option(help="Write the whole graph as GraphML here.")] = None,
    home: Home = DEFAULT_HOME,
) -> None:
    """Show or export the graph of one tenant."""
    data = HomeFolder.at(home).data
    number = current_number(data)
    if number is None:
        raise NotFoundError(f"{data} holds no generation yet; publish something first")
    graph = to_networkx(GraphSnapshot.open(folder_of(data, number) / GRAPH), tenant)
    console = stdout()
    if out is not None:
        nx.write_graphml(graph, out)
        console.print(f"written {out}: {graph.number_of_nodes()} nodes, {graph.number_of_edges()} edges")
        return
    table = Table("entity", "kind", "links", box=None, header_style="bold")
    entities = [node for node in graph.nodes if graph.nodes[node]["kind"] != "memory"]
    for node in sorted(entities, key=graph.degree, reverse=True)[:SHOWN]:
        table.add_row(plain(graph.nodes[node]["name"]), graph.nodes[node]["kind"], str(graph.degree[node]))
    console.print(table)
    for subject, predicate, obj in relations_in(graph)[-SHOWN:]:
        console.print(plain(subject), predicate, plain(obj))
    console.print(f"generation {number}: {len(entities)} entities, {graph.number_of_edges()} edges")
