"""`helix graph`: shows or exports the graph of one tenant from the newest generation of a home.

networkx and numpy are imported when the command runs, since they are slow to import.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.table import Table

from helix_cli.commands.common.options import DEFAULT_HOME, AsJson, Home, Tenant
from helix_cli.commands.group import help_text
from helix_cli.home.folder import HomeFolder
from helix_cli.output.terminal import plain, stdout
from helix_shared.artifacts.generation.folders import GRAPH, SIGNALS, current_number, folder_of
from helix_shared.errors import NotFoundError

if TYPE_CHECKING:
    import networkx as nx

SHOWN: Final = 15
"""Entities in the table, and relations between entities below it."""
HELP: Final = """
[bold]Examples[/bold]

  helix graph --tenant acme
  helix graph --tenant acme --out acme.graphml     (for Gephi, yEd or networkx)
  helix graph --tenant acme --json                 (every entity and relation)

Reads the newest generation of this home. No service needs to run.
"""

app = typer.Typer(add_completion=False)


@app.command(help=help_text("graph", HELP))
def graph_command(
    tenant: Tenant,
    out: Annotated[Path | None, typer.Option(help="Write the whole graph as GraphML here.")] = None,
    as_json: AsJson = False,
    home: Home = DEFAULT_HOME,
) -> None:
    """Show or export the graph of one tenant."""
    from helix_cli.home.tenants import data_of_tenant  # noqa: PLC0415  see above
    from helix_cli.output.graph_export import add_labels, to_networkx, write_graphml  # noqa: PLC0415
    from helix_query.listing.display_names import DisplayNames  # noqa: PLC0415
    from helix_shared.artifacts.graph.snapshot import GraphSnapshot  # noqa: PLC0415
    from helix_shared.artifacts.signals.reader import Signals  # noqa: PLC0415

    data = data_of_tenant(HomeFolder.at(home), tenant)
    number = current_number(data)
    if number is None:
        raise NotFoundError(f"{data} holds no generation yet; publish something first")
    folder = folder_of(data, number)
    snapshot, signals = GraphSnapshot.open(folder / GRAPH), Signals.open(folder / SIGNALS)
    graph = to_networkx(snapshot, tenant)
    names = DisplayNames(
        snapshot, signals, lambda ordinals: ~signals.hidden[ordinals], lambda one: one["tenant_id"] == tenant
    )
    add_labels(graph, names, _entities(graph) if as_json or out is not None else _shown(graph))
    if out is not None:
        write_graphml(graph, out)
    if as_json:
        typer.echo(json.dumps(_as_json(graph, number, out), indent=2))
    elif out is not None:
        typer.echo(f"written {out}: {graph.number_of_nodes()} nodes, {graph.number_of_edges()} edges")
    else:
        _print(graph, number)


def _entities(graph: nx.MultiDiGraph[int]) -> list[int]:
    """Nodes that are no memory, the one with the most links first."""
    entities = [node for node in graph.nodes if graph.nodes[node]["kind"] != "memory"]
    return sorted(entities, key=graph.degree, reverse=True)


def _shown(graph: nx.MultiDiGraph[int]) -> list[int]:
    """Entities that the table and the lines below it name."""
    from helix_cli.output.graph_export import relations_between  # noqa: PLC0415  see above

    ends = [node for subject, _, obj in relations_between(graph)[-SHOWN:] for node in (subject, obj)]
    return list(dict.fromkeys([*_entities(graph)[:SHOWN], *ends]))


def _as_json(graph: nx.MultiDiGraph[int], number: int, out: Path | None) -> dict[str, Any]:
    from helix_cli.output.graph_export import relations_in  # noqa: PLC0415  see above

    stated = {node: graph.nodes[node] for node in _entities(graph)}
    return {
        "generation": number,
        "nodes": graph.number_of_nodes(),
        "edges": graph.number_of_edges(),
        "entities": [
            {
                "name": one["name"],
                "display_name": one["label"],
                "kind": one["kind"],
                "links": graph.degree[node],
            }
            for node, one in stated.items()
        ],
        "relations": [
            {"subject": subject, "predicate": predicate, "object": obj}
            for subject, predicate, obj in relations_in(graph)
        ],
        "written": None if out is None else str(out),
    }


def _print(graph: nx.MultiDiGraph[int], number: int) -> None:
    from helix_cli.output.graph_export import relations_between  # noqa: PLC0415  see above

    console, entities = stdout(), _entities(graph)
    table = Table("entity", "kind", "links", box=None, header_style="bold")
    for node in entities[:SHOWN]:
        table.add_row(plain(graph.nodes[node]["label"]), graph.nodes[node]["kind"], str(graph.degree[node]))
    if entities:
        console.print(table)
    for subject, predicate, obj in relations_between(graph)[-SHOWN:]:
        console.print(plain(graph.nodes[subject]["label"]), predicate, plain(graph.nodes[obj]["label"]))
    console.print(f"generation {number}: {len(entities)} entities, {graph.number_of_edges()} edges")
