"""The body of `helix-lab peers`: every set through every peer, beside Helix's own runs, in one table.

`run` answers, `figures` measures; here both become the report's form and a table. `__main__` reads the
options, loads and embeds the sets and asks Helix.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from rich.console import Console
from rich.table import Table

from helix_lab.measures.figures import figures_of
from helix_lab.peers.exchange import read_costs
from helix_lab.peers.run import ENGINES, Unavailable, run_peers
from helix_lab.sets.answers import Run
from helix_lab.sets.data import Document, EvaluationSet

if TYPE_CHECKING:
    from helix_shared.encoders.encoder import Encoder

SHOWN: Final = ("nDCG@10", "R@5", "R@10", "Hit@10", "All@5", "MRR@10")
EMBED: Final = "embed"
"""Stage of a recall that a peer is spared, because its vectors are given."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A set ready for the peers: row n of `vectors` is document n, of `question_vectors` question n."""

    data: EvaluationSet
    vectors: np.ndarray
    question_vectors: np.ndarray
    own: tuple[Run, ...] = ()
    """Helix's runs on it; the first is what every peer is compared with."""


def embed_set(data: EvaluationSet, encoder: Encoder) -> tuple[np.ndarray, np.ndarray]:
    """Vectors of all documents and of all questions: float32, unit, in the order of the set.

    A document is one passage in the form ingest embeds, without context; what exceeds the model's length
    is cut off, since a peer is given one vector a document.
    """
    vectors = encoder.embed_many([_passage(document) for document in data.documents])
    return vectors, np.stack([encoder.embed_query(question.text) for question in data.questions])


def without_embedding(run: Run) -> Run:
    """The same answers, timed without the embedding of the question, as a peer is."""
    answers = (
        replace(answer, milliseconds=max(0.0, answer.milliseconds - answer.stages_ms.get(EMBED, 0.0)))
        for answer in run.answers
    )
    return Run(run.set_name, f"{run.name}, vector given", tuple(answers))


def peers_command(
    entries: Iterable[Entry],
    *,
    python: Path,
    folder: Path,
    console: Console,
    engines: Sequence[str] = ENGINES,
    top_k: int = 50,
    done: Callable[[dict[str, Any]], object] = lambda _: None,
) -> dict[str, Any]:
    """Run the peers, print a table per set, and return `sets` and `peers` of a report.

    `sets` has the form `helix-lab eval` writes, an engine standing where a profile does. `peers` has for
    each set every engine's costs, or the reason why it has no figures. `python` is the interpreter of the
    peers' environment, `folder` keeps what they were given and what they answered. `done` gets the report
    so far after each set: a run of hours that is ended keeps what it has.

    Raises:
        InvalidInputError: there is no such engine, or vectors do not fit their set.
    """
    report: dict[str, Any] = {"sets": {}, "peers": {}}
    for entry in entries:
        name, place = entry.data.name, folder / entry.data.name.replace(":", "-")
        with console.status(name) as status:
            results = run_peers(
                entry.data,
                entry.vectors,
                entry.question_vectors,
                engines=engines,
                python=python,
                top_k=top_k,
                folder=place,
                advance=status.update,
            )
        runs = [shown for run in entry.own for shown in (run, without_embedding(run))]
        runs += [result for result in results if isinstance(result, Run)]
        baseline = entry.own[0] if entry.own else None
        report["sets"][name] = {run.name: figures_of(run, entry.data, baseline=baseline) for run in runs}
        report["peers"][name] = {result.name: _account(result, place) for result in results}
        _print(name, report, console)
        done(report)
    return report


def _passage(document: Document) -> str:
    if document.speaker:
        return f"{document.speaker}: {document.text}"
    return f"{document.title}\n{document.text}" if document.title else document.text


def _account(result: Run | Unavailable, folder: Path) -> dict[str, Any]:
    if isinstance(result, Unavailable):
        return {"unavailable": result.reason}
    return asdict(read_costs(folder / result.name))


def _print(name: str, report: dict[str, Any], console: Console) -> None:
    table = Table(title=name, title_justify="left")
    table.add_column("engine")
    for column in (*SHOWN, "p50 ms", "p95 ms", "load s", "MiB"):
        table.add_column(column, justify="right")
    accounts = report["peers"][name]
    for engine, row in report["sets"][name].items():
        costs = accounts.get(engine, {})
        quality = (f"{row[metric]:.1f}" for metric in SHOWN)
        latency = (f"{row['recall_ms'][percentile]:.1f}" for percentile in ("p50", "p95"))
        load = (f"{costs['load_seconds']:.1f}", f"{costs['peak_memory_mib']:.0f}") if costs else ("-", "-")
        table.add_row(engine, *quality, *latency, *load)
    console.print(table)
    for engine, account in accounts.items():
        reason = account.get("unavailable")
        console.print(f"{engine}: {'no figures, ' + reason if reason else account['note']}", markup=False)
