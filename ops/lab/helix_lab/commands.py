"""The commands of `helix-lab`: `eval` and `peers` are here, the others are files of their own."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from rich.table import Table

from helix_cli.model_build.default_model import ensure_default_model
from helix_lab.ablation.command import ablate_command
from helix_lab.bench.command import bench
from helix_lab.calibration.command import calibrate_command
from helix_lab.channel_share.command import share_command
from helix_lab.evaluate import DIRECT, STREAM, Evaluation, meta
from helix_lab.measures.figures import figures_of
from helix_lab.options import CorpusFrom, DataFolder, ProfilesFolder, QuestionLimit, SetNames
from helix_lab.peers.command import Entry, embed_set, peers_command
from helix_lab.peers.run import ENGINES, check_engines
from helix_lab.query_adapter.command import adapter_command
from helix_lab.ranking_profiles import named_profiles
from helix_lab.relations.command import relations_command
from helix_lab.report.write import check_report_name, write_report
from helix_lab.sets.data import EvaluationSet
from helix_lab.sets.load import load_judged
from helix_lab.sets.stream import Loading
from helix_lab.sets.vector_store import VectorStore
from helix_lab.simulation.command import simulate_command
from helix_lab.tuning.command import tune_command
from helix_lab.vector_losses import vectors_command
from helix_shared.encoders.encoder import Encoder
from helix_shared.encoders.model import read_card
from helix_shared.encoders.store import default_model
from helix_shared.errors import HelixError, InvalidInputError
from helix_shared.settings import helix_home
from helix_shared.telemetry.logs import configure_logging

FAILED: Final = 1
SHOWN: Final = (
    *("R@5", "R@10", "Hit@1", "Hit@5", "Hit@10", "All@10", "MRR@10", "nDCG@10", "Stale@1", "Evidence@1000"),
)

app = typer.Typer(
    help="Evaluation and benchmarks of Helix.", no_args_is_help=True, pretty_exceptions_enable=False
)
PEERS_PYTHON: Final = Path(".venv-peers/bin/python")
PIPED_WIDTH: Final = 130
"""Width in columns without a terminal, so that a log does not cut a table."""

console = Console(width=None if sys.stdout.isatty() else PIPED_WIDTH)


@app.command(name="eval")
def eval_command(
    data: DataFolder,
    sets: SetNames = "",
    profile: Annotated[str, typer.Option(help="Ranking profiles, comma between.")] = "helix",
    path: Annotated[str, typer.Option(help="direct (in this process) or stream (NATS, gRPC).")] = DIRECT,
    out: Annotated[Path | None, typer.Option(help="Report: JSON; Markdown, page, charts beside.")] = None,
    corpus_from: CorpusFrom = None,
    profiles_dir: ProfilesFolder = None,
    top_k: Annotated[int, typer.Option(help="Memories asked for.", min=10, max=200)] = 50,
    limit: QuestionLimit = None,
    fresh: Annotated[bool, typer.Option(help="Ask again what was answered before.")] = False,
    copies: Annotated[int, typer.Option(help="stream: copies of each worker.", min=1, max=8)] = 1,
    crash: Annotated[
        bool, typer.Option(help="stream: kill workers and the writer half way through.")
    ] = False,
    wait_seconds: Annotated[float, typer.Option(help="stream: how long publishing may take.")] = 3_600.0,
) -> None:
    """Ask every question of every set, and say how good the answers are, with intervals.

    The same command continues a killed run where it stopped.
    """
    check_report_name(out)
    if path not in {DIRECT, STREAM}:
        raise InvalidInputError("path", f"must be {DIRECT} or {STREAM}, not {path!r}")
    profiles = named_profiles(profile, profiles_dir)
    loaded = load_judged(data, sets, corpus_from=corpus_from, limit=limit)
    evaluation = Evaluation(
        home=helix_home() / "lab",
        models=_models(),
        path=path,  # type: ignore[arg-type] # checked above
        top_k=top_k,
        own_profiles=profiles_dir,
        loading=Loading(copies, crash, wait_seconds),
        fresh=fresh,
    )
    report: dict[str, Any] = {"sets": {}, "linkage": {}, "meta": meta(evaluation)}
    for one in loaded:
        runs = evaluation.runs(one, profiles, console)
        report["sets"][one.name] = {run.name: figures_of(run, one, baseline=runs[0]) for run in runs}
        if linked := evaluation.linkage(one, next(iter(profiles.values()))):
            report["linkage"][one.name] = linked
        _print(one, report["sets"][one.name])
        if out is not None:
            write_report(report, out)
    if out is not None:
        console.print(f"written: {out} and beside it {out.stem}.md, {out.stem}.html, charts")


@app.command(name="peers")
def peers(
    data: DataFolder,
    sets: SetNames = "",
    profile: Annotated[str, typer.Option(help="Ranking profiles of Helix, comma between.")] = "helix",
    engines: Annotated[str, typer.Option(help="Peers, comma between; none: all.")] = "",
    python: Annotated[Path, typer.Option(help="Interpreter of the peers' environment.")] = PEERS_PYTHON,
    out: Annotated[Path | None, typer.Option(help="Report: JSON; Markdown, page, charts beside.")] = None,
    corpus_from: CorpusFrom = None,
    top_k: Annotated[int, typer.Option(help="Documents asked for.", min=10, max=200)] = 50,
    limit: QuestionLimit = None,
) -> None:
    """Ask other engines the same questions over the same vectors; Helix beside them, in one table."""
    check_report_name(out)
    names = [name.strip() for name in engines.split(",") if name.strip()] or ENGINES
    check_engines(names)
    profiles = named_profiles(profile, None)
    loaded = load_judged(data, sets, corpus_from=corpus_from, limit=limit)
    evaluation = Evaluation(home=helix_home() / "lab", models=_models(), path=DIRECT, top_k=top_k, fresh=True)
    model, about = default_model(evaluation.models), {"meta": meta(evaluation)}

    def entries() -> Iterator[Entry]:
        for one in loaded:
            own = evaluation.runs(one, profiles, console)
            with (
                VectorStore(evaluation.home / "vectors", model=read_card(model).checksum) as store,
                Encoder.load(model, cache=store) as encoder,
            ):
                vectors = embed_set(one, encoder)
            yield Entry(one, *vectors, own=tuple(own))

    peers_command(
        entries(),
        python=python,
        folder=evaluation.home / "peers",
        console=console,
        engines=names,
        top_k=top_k,
        done=lambda report: None if out is None else write_report(report | about, out),
    )
    if out is not None:
        console.print(f"written: {out} and beside it {out.stem}.md, {out.stem}.html, charts")


app.command(name="ablate")(ablate_command)
app.command(name="tune")(tune_command)
app.command(name="share")(share_command)
app.command(name="adapter")(adapter_command)
app.command(name="calibrate")(calibrate_command)
app.command(name="bench")(bench)
app.command(name="relations")(relations_command)
app.command(name="vectors")(vectors_command)
app.command(name="simulate")(simulate_command)


def _models() -> Path:
    models = helix_home() / "models"
    ensure_default_model(models)
    return models


def _print(data: EvaluationSet, figures: dict[str, dict[str, Any]]) -> None:
    table = Table(title=data.name, title_justify="left")
    table.add_column("profile")
    for column in ("n", *SHOWN, "p50 ms", "p95 ms"):
        table.add_column(column, justify="right")
    for profile, row in figures.items():
        quality = ("-" if row.get(name) is None else f"{row[name]:.1f}" for name in SHOWN)
        latency = (f"{row['recall_ms'][name]:.1f}" for name in ("p50", "p95"))
        table.add_row(profile, str(row["queries"]), *quality, *latency)
    console.print(table)
    skipped = {profile: row["skipped"] for profile, row in figures.items() if row["skipped"]}
    if skipped:
        console.print(f"wrongly skipped: {skipped}")


def run() -> None:
    """Run the command that the arguments name; our own errors are one line."""
    configure_logging(log_format="console", level="WARNING", service="lab")
    try:
        app()
    except HelixError as error:
        Console(stderr=True).print(f"error: {error}", style="red", markup=False)
        raise SystemExit(FAILED) from None
