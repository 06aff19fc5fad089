"""`helix-lab`: publish a set, ask its questions, print how good and how fast the answers were."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final

import numpy as np
import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from helix_cli.stack import Stack
from helix_lab.bench import bench
from helix_lab.data import EvaluationSet, load_set
from helix_lab.inventory import take_inventory
from helix_lab.metrics import evaluate, mean
from helix_lab.settle import settle
from helix_lab.stream import Answer, ask_set, crash_half_way, publish_set
from helix_shared.errors import HelixError
from helix_shared.settings import helix_home

FAILED: Final = 1
SHOWN: Final = ("R@1", "R@5", "R@10", "Hit@5", "Hit@10", "All@5", "MRR@10")

app = typer.Typer(
    help="Evaluation and benchmarks of Helix.", no_args_is_help=True, pretty_exceptions_enable=False
)
console = Console()


@app.command(name="eval")
def eval_command(
    data: Annotated[Path, typer.Option(help="Folder of the evaluation sets.")],
    sets: Annotated[str, typer.Option(help="Set names, comma between.")],
    profile: Annotated[str, typer.Option(help="Ranking profiles, comma between.")] = "helix",
    out: Annotated[Path | None, typer.Option(help="Write the figures as JSON here.")] = None,
    corpus_from: Annotated[Path | None, typer.Option(help="Where a set without a corpus finds one.")] = None,
    copies: Annotated[int, typer.Option(help="Copies of each worker.", min=1, max=8)] = 1,
    top_k: Annotated[int, typer.Option(help="Memories asked for.", min=10, max=200)] = 50,
    crash: Annotated[bool, typer.Option(help="Kill one of each worker and the writer half way.")] = False,
    wait_seconds: Annotated[float, typer.Option(help="How long publishing may take.")] = 1_800.0,
) -> None:
    """Publish sets through NATS, ask every question over gRPC, print R@k, Hit@k and latency."""
    report: dict[str, Any] = {"sets": {}}
    for name in sets.split(","):
        corpus = corpus_from / name if corpus_from else None
        loaded = load_set(data / name, corpus_folder=corpus)
        with _running(copies) as stack:
            _publish(loaded, stack, crash=crash, wait_seconds=wait_seconds)
            report["sets"][name] = _ask(loaded, stack, profile.split(","), top_k=top_k)
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(json.dumps(report, indent=2) + "\n")
        console.print(f"written: {out}")


app.command(name="bench")(bench)


@contextlib.contextmanager
def _running(copies: int) -> Iterator[Stack]:
    workers = dict.fromkeys(("ingest", "doc2query", "kg"), copies)
    with (
        tempfile.TemporaryDirectory(prefix="helix-lab-") as home,
        Stack(Path(home), nats_port=0, query_port=0, copies=workers, models=helix_home() / "models") as stack,
    ):
        stack.wait_ready()
        yield stack


def _publish(data: EvaluationSet, stack: Stack, *, crash: bool, wait_seconds: float) -> None:
    crashing = crash_half_way(stack, len(data.documents)) if crash else None
    tally, seconds = publish_set(data, stack, wait_seconds=wait_seconds)
    if crashing is not None:
        crashing.join()
        asyncio.run(settle(stack.nats_url, stack.query_address, wait_seconds=wait_seconds))
    killed = "; one of each worker and the writer were killed half way" if crash else ""
    console.print(f"{data.name}: {tally.published} published, recallable after {seconds:.0f} s{killed}")
    console.print(f"model {stack.model}")
    console.print(str(take_inventory(data, stack.query_address)))


def _ask(data: EvaluationSet, stack: Stack, profiles: list[str], *, top_k: int) -> dict[str, dict[str, Any]]:
    figures = {}
    for profile in profiles:
        with Progress(console=console, transient=True) as progress:
            task = progress.add_task(f"{data.name} {profile}", total=len(data.answerable))
            tick = partial(progress.advance, task)
            answers = ask_set(data, stack.query_address, profile=profile, top_k=top_k, tick=tick)
        figures[profile] = _figures(data, answers)
        _print(data, profile, answers, figures[profile])
    return figures


def _figures(data: EvaluationSet, answers: list[Answer]) -> dict[str, Any]:
    scores = mean([evaluate(answer.ranking, data.relevant[answer.question.id]) for answer in answers])
    times = np.array([answer.milliseconds for answer in answers])
    latency = {f"p{q}": round(float(np.percentile(times, q)), 2) for q in (50, 95, 99)}
    skipped = sum(answer.skipped for answer in answers)
    return {"queries": len(answers), **scores, "skipped": skipped, "recall_ms": latency}


def _print(data: EvaluationSet, profile: str, answers: list[Answer], figures: dict[str, Any]) -> None:
    table = Table(title=f"{data.name}, profile {profile}", title_justify="left")
    for column in ("questions", "n", *SHOWN):
        table.add_column(column, justify="left" if column == "questions" else "right")
    groups: dict[str, list[Answer]] = defaultdict(list)
    for answer in answers:
        groups[answer.question.category or "-"].append(answer)
    for category, group in sorted(groups.items()) if len(groups) > 1 else []:
        scores = _figures(data, group)
        table.add_row(category, str(len(group)), *(f"{scores[name]:.1f}" for name in SHOWN))
    table.add_row("all", str(len(answers)), *(f"{figures[name]:.1f}" for name in SHOWN), style="bold")
    console.print(table)
    latency = " ".join(f"{name} {value:.1f} ms" for name, value in figures["recall_ms"].items())
    console.print(f"recall over gRPC: {latency}; wrongly skipped: {figures['skipped']}")


def main() -> None:
    """Run the command; our own errors are one line."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    try:
        app()
    except HelixError as error:
        Console(stderr=True).print(f"error: {error}", style="red", markup=False)
        raise SystemExit(FAILED) from None


if __name__ == "__main__":
    main()
