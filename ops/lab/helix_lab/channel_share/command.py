"""`helix-lab share`: fits the share of the dense channel by query and writes it into a ranking profile.

`curves` asks, `fit` fits, `assessment` leaves every kind of text out once. Run it again after any change of
the pipeline, and `helix-lab calibrate` after it: probabilities depend on the order of the memories.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from rich.table import Table

from helix_lab.channel_share.assessment import Options, assess, mean_over_kinds
from helix_lab.channel_share.curves import SHARES, Curves, curves_of, kept_at, load, save
from helix_lab.channel_share.fit import FEATURES, PENALTY, fit
from helix_lab.evaluate import Evaluation, meta, opened, progress_bar
from helix_lab.options import CorpusFrom, ProfilesFolder, QuestionLimit, SetNames
from helix_lab.profile_text import check_profile_file, write_table
from helix_lab.ranking_profiles import one_profile
from helix_lab.sets.build import corpus_key
from helix_lab.sets.cached.corpora import in_process, load_answerable
from helix_lab.sets.cached.corpus import CachedCorpus
from helix_lab.sets.data import EvaluationSet
from helix_query.profile.overrides import with_constants
from helix_query.profile.profile import RankingProfile
from helix_query.profile.sections.section import DENSE, LEXICAL
from helix_shared.encoders.model import read_card
from helix_shared.encoders.store import default_model
from helix_shared.errors import InvalidInputError
from helix_shared.machine.whole_file import write_whole

PIPED_WIDTH: Final = 140
COLUMNS: Final = ("lexical", "dense", "best_fixed", "best_fixed_share", "before", "fitted", "held_out")


def share_command(
    data: Annotated[Path, typer.Option(help="Folder of the development sets.")],
    out: Annotated[Path, typer.Option(help="NAME.toml: its [fuse.adaptive] is replaced; made if absent.")],
    sets: SetNames = "",
    profile: Annotated[str, typer.Option(help="The ranking profile whose share is fitted.")] = "helix",
    features: Annotated[str, typer.Option(help="Features of the model.")] = ",".join(FEATURES),
    penalty: Annotated[float, typer.Option(help="Pull towards share = 1 - coverage.", min=0)] = PENALTY,
    report: Annotated[Path | None, typer.Option(help="All figures as JSON.")] = None,
    corpus_from: CorpusFrom = None,
    profiles_dir: ProfilesFolder = None,
    limit: QuestionLimit = 200,
) -> None:
    """Fit how much the dense channel counts against the lexical one, by query.

    Every kind of text weighs the same and is judged by a model that never saw it. The written model is fitted
    to all.
    """
    names = tuple(name.strip() for name in features.split(",") if name.strip())
    start = one_profile(profile, profiles_dir)
    # the profile refuses an unknown feature: check before the questions are asked
    with_constants(start, {"fuse.adaptive": {"intercept": 0.0, "coefficients": dict.fromkeys(names, 0.0)}})
    check_profile_file(out, start, "fuse.adaptive")
    if missing := [channel for channel in (DENSE, LEXICAL) if channel not in start.retrieve.channels]:
        raise InvalidInputError("profile", f"{start.name} has no channel {missing[0]} to share with")
    loaded = load_answerable(data, sets, corpus_from, limit)
    evaluation = in_process(profiles_dir)
    console = Console(width=None if sys.stdout.isatty() else PIPED_WIDTH)
    curves = list(_curves(loaded, start, evaluation, console))
    options = Options(names, penalty)
    model = fit(curves, names=names, penalty=penalty)
    rows = assess(curves, start.fuse.adaptive, model, options)
    encoder = read_card(default_model(evaluation.models)).encoder_checksum
    model = model.model_copy(update={"encoder": encoder})
    found = {"adaptive": model.model_dump(mode="json"), "sets": rows, "meta": meta(evaluation)}
    write_table(out, start, "fuse.adaptive", model, comment=_comment(rows, penalty))
    if report is not None:
        write_whole(report, (json.dumps(found, indent=2) + "\n").encode())
    _print(rows, console)
    console.print(f"written: {out}", markup=False)


def _curves(
    sets: Sequence[EvaluationSet], profile: RankingProfile, evaluation: Evaluation, console: Console
) -> Iterator[Curves]:
    model = read_card(default_model(evaluation.models)).checksum
    with progress_bar(console) as progress:
        for one in sets:
            path = kept_at(evaluation.home / "shares", one, profile, corpus_key(one, model))
            found = load(path)
            if found is None:
                with opened(one, evaluation, progress) as corpus:
                    task = progress.add_task(one.name, total=len(SHARES))
                    advance = lambda task=task: progress.advance(task)  # noqa: E731
                    found = curves_of(CachedCorpus(corpus), one, profile, advance=advance)
                    progress.update(task, visible=False)
                save(path, found)
            if not len(found):
                reason = "every question is skipped, or lacks the answer of a channel; leave it out"
                raise InvalidInputError(one.name, reason)
            yield found


def _comment(rows: Mapping[str, Any], penalty: float) -> str:
    """How the constants were found and what they are worth."""
    worst = min(rows, key=lambda name: _lead(rows[name]["main"], "fitted") or 0.0)
    is_left_out = all(row["main"]["held_out"] is not None for row in rows.values())
    left_out = f"{mean_over_kinds(rows, 'held_out'):.1f}" if is_left_out else "not known (one kind)"
    return (
        f"Fitted by `helix-lab share` on {', '.join(rows)}; every kind of text has the same weight, penalty "
        f"{penalty:g} on the distance from share = 1 - coverage. Mean of the main metrics over kinds: fitted "
        f"{mean_over_kinds(rows, 'fitted'):.1f}, every kind left out in turn {left_out}, best of the two "
        f"channels by set "
        f"{mean_over_kinds(_with_single(rows), 'single'):.1f}. Least lead over the better channel: {worst} "
        f"{_signed(_lead(rows[worst]['main'], 'fitted'))}."
    )


def _with_single(rows: Mapping[str, Any]) -> dict[str, Any]:
    """The rows with the better channel alone as a figure of its own."""
    return {
        name: row | {"main": {"single": max(row["main"]["lexical"], row["main"]["dense"])}}
        for name, row in rows.items()
    }


def _lead(figures: Mapping[str, Any], key: str) -> float | None:
    """Over the better channel alone; None where the figure is not known."""
    return None if figures[key] is None else figures[key] - max(figures["lexical"], figures["dense"])


def _signed(lead: float | None) -> str:
    return "-" if lead is None else f"{lead:+.1f}"


def _print(rows: Mapping[str, Any], console: Console) -> None:
    table = Table(
        title="main metric, percent; held out: fitted without this kind of text", title_justify="left"
    )
    for title in ("set", "kind", "metric"):
        table.add_column(title)
    for title in ("n", "share", *(name.replace("_", " ") for name in COLUMNS), "lead", "held-out lead"):
        table.add_column(title, justify="right")
    for name, row in rows.items():
        for metric, figures in row["metrics"].items():
            cells = ["-" if figures[key] is None else f"{figures[key]:.1f}" for key in COLUMNS]
            leads = [_signed(_lead(figures, key)) for key in ("fitted", "held_out")]
            if metric == row["metric"]:
                start = (name, row["kind"], metric, str(row["questions"]), f"{row['mean_share']:.2f}")
            else:
                start = ("", "", metric, "", "")
            table.add_row(*start, *cells, *leads)
    console.print(table)
