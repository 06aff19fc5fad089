"""`helix-lab relations`: fit, judge and write the model of relations between statements."""

from __future__ import annotations

import functools
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Final

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from helix_cli.model_build.default_model import ensure_default_model
from helix_consolidation.relations.decide import decide
from helix_consolidation.relations.model import RelationModel
from helix_ingest.memories_builder import MemoriesBuilder
from helix_ingest.settings import IngestSettings
from helix_lab.options import DataFolder
from helix_lab.relations import labelled as labels
from helix_lab.relations.fitting import Observations, fitted, left_out, model_text
from helix_lab.relations.judging import RECALLS, Verdicts, area_under_curve, decided, precision_at
from helix_lab.relations.labelled import LabelledSet
from helix_lab.relations.look_alikes import look_alikes
from helix_lab.relations.pairing import Case, cases_of, in_small_stores
from helix_lab.sets.load import load_sets
from helix_lab.sets.vector_store import VectorStore
from helix_shared.artifacts.relations.records import RELATION_KINDS
from helix_shared.encoders.encoder import Encoder
from helix_shared.encoders.model import read_card
from helix_shared.encoders.store import default_model
from helix_shared.machine.whole_file import write_whole
from helix_shared.settings import helix_home

HEAD: Final = "# Written by `helix-lab relations --out`: logistic regressions (decision 0036)."
THRESHOLDS: Final = {"link": 0.08, "relate": 0.5, "repeat": 0.5, "close": 0.5}
STORY_FOLDS: Final = 4
SMALL_EVERY: Final = 3
"""Of the cases with little stored, each third is fitted: more cost the others."""
CLOSABLE: Final = frozenset([labels.UPDATE, labels.REVERSAL])
PROSE: Final = "hotpotqa,2wikimultihopqa,locomo,scifact"
"""Sets whose documents update nothing; in locomo, a few do."""

Cases = Mapping[str, Sequence[Case]]


def relations_command(
    data: DataFolder,
    sets: Annotated[str, typer.Option(help="Sets with stale.tsv that are fitted, comma between.")] = "life",
    look_alike_sets: Annotated[str, typer.Option(help="Sets whose documents update nothing.")] = PROSE,
    most: Annotated[int, typer.Option(help="Documents of each of those.", min=1)] = 400,
    out: Annotated[Path | None, typer.Option(help="Where the fitted model is written: TOML.")] = None,
) -> None:
    """Fit how new statements relate to earlier ones, and judge it on what was left out.

    Each set, and our own months, stories and pairs, is judged in up to four folds of its tenants, by models
    that never saw the fold.
    """
    console = Console(width=130)
    given, unchanging = load_sets(data, sets), load_sets(data, look_alike_sets)
    models = helix_home() / "models"
    ensure_default_model(models)
    folder = default_model(models)
    home = helix_home() / "lab" / "vectors"
    with (
        VectorStore(home, model=read_card(folder).checksum) as store,
        Encoder.load(folder, cache=store) as encoder,
    ):
        ingest = MemoriesBuilder(encoder, IngestSettings.load().most_tokens(encoder.card))
        own = (labels.months(), labels.stories(), labels.pairs())
        labelled = (*map(labels.of_set, given), *own)
        prepared = [(one, cases_of(one.data, ingest)) for one in labelled]
        near = [
            (LabelledSet(one, {}, otherwise=labels.NEAR), look_alikes(one, encoder, most))
            for one in unchanging
        ]
    seen = [Observations.of(*one) for one in prepared]
    small = [Observations.of(one, _in_small_stores(one, cases)) for one, cases in prepared]
    whole = functools.reduce(Observations.joined, [*seen, *small])
    models_left_out = left_out(whole, _folds(seen), **THRESHOLDS)
    _print_ranking(console, prepared, seen, models_left_out)
    _print_classes(console, prepared, models_left_out)
    model = fitted(whole, **THRESHOLDS)
    _print_classes(console, near, {one.data.name: model for one, _ in near})
    _print_time(console, prepared, model)
    if out is not None:
        named = replace(model, encoder=read_card(folder).encoder_checksum)
        write_whole(out, model_text(named, HEAD).encode())
        console.print(f"written: {out}")


def _in_small_stores(one: LabelledSet, cases: Cases) -> Cases:
    judged = one.classes.keys()
    return {
        tenant: list(in_small_stores(some, lambda older, newer: (older, newer) in judged))[::SMALL_EVERY]
        for tenant, some in cases.items()
    }


def _folds(seen: Sequence[Observations]) -> list[list[str]]:
    folds: list[list[str]] = []
    for one in seen:
        groups = sorted(set(one.groups.tolist()))
        count = min(len(groups), STORY_FOLDS)
        folds += [groups[number::count] for number in range(count)]
    return folds


def _print_ranking(
    console: Console,
    prepared: Sequence[tuple[LabelledSet, Cases]],
    seen: Sequence[Observations],
    models: Mapping[str, RelationModel],
) -> None:
    table = Table(title="UPDATES, model fitted without the fold", title_justify="left")
    for name in (
        "set",
        "labelled",
        "candidates hold",
        "per statement",
        "AUC",
        *(f"P@R{r:g}" for r in RECALLS),
    ):
        table.add_column(name, justify="right")
    for (one, cases), observed in zip(prepared, seen, strict=True):
        if one.only_pairs:
            continue
        scores = _scores(observed, models)
        best = observed.best_rows(scores)
        scores, classes = scores[best], observed.classes[best]
        wanted = {pair for pair, kind in one.classes.items() if kind in CLOSABLE}
        held = len(wanted & set(observed.pairs))
        sizes = [len(case.candidates) for some in cases.values() for case in some]
        for name, chosen in (
            (one.data.name, np.ones(len(scores), dtype=bool)),
            ("without unjudged pairs", classes != labels.UNJUDGED),
        ):
            truth = np.isin(classes, sorted(CLOSABLE))[chosen]
            figures = [precision_at(scores[chosen], truth, recall, len(wanted)) for recall in RECALLS]
            table.add_row(
                name,
                str(len(wanted)),
                f"{held / max(1, len(wanted)):.1%}",
                f"{np.mean(sizes):.1f}",
                f"{area_under_curve(scores[chosen], truth):.3f}",
                *(f"{figure:.2f}" for figure in figures),
            )
    console.print(table)


def _scores(observed: Observations, models: Mapping[str, RelationModel]) -> np.ndarray:
    scores = np.zeros(len(observed.rows))
    at = RELATION_KINDS.index("UPDATES")
    for group in set(observed.groups.tolist()):
        chosen = observed.groups == group
        scores[chosen] = models[group].probabilities(observed.rows[chosen])[:, at]
    return scores


def _print_classes(
    console: Console, prepared: Sequence[tuple[LabelledSet, Cases]], models: Mapping[str, RelationModel]
) -> None:
    for one, cases in prepared:
        verdicts = decided(one, cases, models, CLOSABLE)
        _print_verdicts(console, f"{one.data.name}: decided by models fitted without it", verdicts)


def _print_verdicts(console: Console, title: str, verdicts: Verdicts) -> None:
    table = Table(title=title, title_justify="left")
    for name in ("class", "pairs", "linked", "closed", *RELATION_KINDS):
        table.add_column(name, justify="right")
    for kind, count in verdicts.count.most_common():
        of_kind = verdicts.relations[kind]
        table.add_row(
            kind,
            str(count),
            f"{verdicts.linked[kind] / count:.1%}",
            str(verdicts.closed[kind]),
            *(str(of_kind[relation]) for relation in RELATION_KINDS),
        )
    console.print(table)
    for older, newer in verdicts.closings[:20]:
        console.print(f"  closed: {older[:100]!r} by {newer[:100]!r}", markup=False)


def _print_time(
    console: Console, prepared: Sequence[tuple[LabelledSet, Cases]], model: RelationModel
) -> None:
    cases = [case for _, some in prepared for one in some.values() for case in one]
    started = time.process_time()
    for case in cases:
        decide(case.new, case.candidates, model)
    seconds = (time.process_time() - started) / max(1, len(cases))
    mean = np.mean([len(case.candidates) for case in cases])
    console.print(f"decide: {seconds * 1_000:.2f} ms of processor time for {mean:.1f} candidates")
