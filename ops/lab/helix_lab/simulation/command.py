"""`helix-lab simulate`: the scenarios, their report as JSON and Markdown, and their charts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from helix_lab.simulation.charts import chart
from helix_lab.simulation.parameters import Parameters, load_parameters
from helix_lab.simulation.scenarios import SCENARIOS, Outcome, simulate
from helix_shared.errors import InvalidInputError


def simulate_command(
    out: Annotated[Path, typer.Option(help="Report: JSON; Markdown and charts beside.")],
    only: Annotated[str, typer.Option(help=f"Scenarios, comma between; none: {', '.join(SCENARIOS)}.")] = "",
    seed: Annotated[int, typer.Option(help="Two runs with one seed are equal.", min=0)] = 1,
    parameters: Annotated[
        Path | None, typer.Option(help="TOML file with other figures and their sources.")
    ] = None,
) -> None:
    """Simulate shards and replicas with measured times: load, slow replicas, hot tenants, deaths, moves.

    Runs no Helix. Which figures are measured, derived or assumed is in the report.
    """
    names = [name.strip() for name in only.split(",") if name.strip()] or list(SCENARIOS)
    if unknown := [name for name in names if name not in SCENARIOS]:
        raise InvalidInputError("only", f"unknown scenario {unknown[0]!r}; known: {', '.join(SCENARIOS)}")
    if out.suffix != ".json":
        raise InvalidInputError("out", "is the name of the JSON; end it in .json")
    figures = load_parameters(parameters)
    outcomes = simulate(names, figures, seed=seed)
    out.parent.mkdir(parents=True, exist_ok=True)
    report = {
        "seed": seed,
        "parameters": asdict(figures),
        "outcomes": {k: asdict(v) for k, v in outcomes.items()},
    }
    out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    for name, outcome in outcomes.items():
        (out.parent / f"{name}.png").write_bytes(chart(outcome))
    text = markdown(outcomes, figures, seed=seed)
    out.with_suffix(".md").write_text(text, encoding="utf-8")
    typer.echo(text)


def markdown(outcomes: Mapping[str, Outcome], figures: Parameters, *, seed: int) -> str:
    """The report for people: a table and a chart for each outcome, then the figures with their sources."""
    lines = [f"# Simulation, seed {seed}", ""]
    for name, outcome in outcomes.items():
        columns = list(dict.fromkeys(key for row in outcome.rows for key in row))
        lines += [f"## {outcome.title}", "", _row(columns), _row(["---"] * len(columns))]
        lines += [_row([row.get(column, "") for column in columns]) for row in outcome.rows]
        lines += ["", f"![{outcome.title}]({name}.png)", ""]
    lines += ["## Figures", "", _row(["figure", "value", "basis", "source"]), _row(["---"] * 4)]
    lines += [
        _row([name, f"{getattr(figures, name):g}", source.basis, source.text])
        for name, source in figures.sources.items()
    ]
    return "\n".join([*lines, ""])


def _row(cells: list[object] | list[str]) -> str:
    return f"| {' | '.join(str(cell) for cell in cells)} |"
