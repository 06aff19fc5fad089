"""`helix-lab tune`: searches the constants of a ranking profile, judges the search, writes the profile.

`space` has the constants; `nested` keeps the questions that judge away from the search. `sets.cached` asks,
so only a change of retrieval costs a retrieval.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from helix_lab.evaluate import Evaluation, meta, opened, progress_bar
from helix_lab.options import CorpusFrom, ProfilesFolder, QuestionLimit, SetNames
from helix_lab.ranking_profiles import one_profile
from helix_lab.sets.answers import Run
from helix_lab.sets.cached.corpora import in_process, load_answerable
from helix_lab.sets.cached.corpus import CachedCorpus
from helix_lab.sets.data import EvaluationSet
from helix_lab.tuning.nested import Outcome, tuned
from helix_lab.tuning.objective import DEFAULT_METRIC, read_objective
from helix_lab.tuning.profile_file import write_profile
from helix_lab.tuning.search import Plan
from helix_lab.tuning.space import chosen_space
from helix_lab.tuning.summary import profile_heading, tuning_markdown, tuning_report, verdict
from helix_query.profile.overrides import with_constants
from helix_query.profile.profile import RankingProfile
from helix_shared.machine.whole_file import write_whole


def tune_command(
    data: Annotated[Path, typer.Option(help="Folder of the development sets.")],
    name: Annotated[str, typer.Option(help="Name of the ranking profile that is written.")],
    out: Annotated[Path, typer.Option(help="Folder for NAME.toml, and NAME.json and NAME.md on the search.")],
    sets: SetNames = "",
    profile: Annotated[str, typer.Option(help="The ranking profile the search starts from.")] = "helix",
    space: Annotated[str, typer.Option(help="Constants to search, comma between; none: the usual.")] = "",
    objective: Annotated[
        str, typer.Option(help="Metric to raise; exceptions as SET=METRIC, comma between.")
    ] = DEFAULT_METRIC,
    penalty: Annotated[
        float, typer.Option(help="Weight of what a set loses against the start.", min=0)
    ] = 1.0,
    trials: Annotated[int, typer.Option(help="Proposals of each search.", min=1)] = 60,
    outer: Annotated[int, typer.Option(help="Folds that judge; each costs a search.", min=2, max=20)] = 3,
    inner: Annotated[int, typer.Option(help="Folds within a search.", min=2, max=20)] = 3,
    seed: Annotated[int, typer.Option(help="The same seed finds the same constants.", min=0)] = 0,
    corpus_from: CorpusFrom = None,
    profiles_dir: ProfilesFolder = None,
    limit: QuestionLimit = None,
) -> None:
    """Search the constants of a ranking profile on development sets, and write the best as a profile.

    Questions are split twice: the gain of a search is measured on questions it never saw.
    """
    start = one_profile(profile, profiles_dir)
    loaded = load_answerable(data, sets, corpus_from, limit)
    names = [one.name for one in loaded]
    read = read_objective(objective, sets=names, penalty=penalty)
    plan = Plan(chosen_space(space), read, trials=trials, inner=inner, seed=seed)
    description = f"{start.name} tuned on {', '.join(names)}"
    renamed = {"name": name, "description": description}
    with_constants(start, renamed)  # refuse a bad name before an hour of work
    evaluation, console = in_process(profiles_dir), Console()
    outcome = _tuned(loaded, evaluation, start, plan, outer, console)
    report = tuning_report(outcome, loaded, start, plan, name=name) | {"meta": meta(evaluation)}
    path = write_profile(with_constants(outcome.final.profile, renamed), out, heading=profile_heading(report))
    _write(report, path)
    _print(report, console)
    console.print(f"written: {path} and beside it {name}.json, {name}.md")


def _tuned(
    sets: list[EvaluationSet],
    evaluation: Evaluation,
    start: RankingProfile,
    plan: Plan,
    outer: int,
    console: Console,
) -> Outcome:
    with contextlib.ExitStack() as held:
        progress = held.enter_context(progress_bar(console))
        corpora = [held.enter_context(opened(one, evaluation, progress)) for one in sets]
        rehearsals = {corpus.data.name: CachedCorpus(corpus) for corpus in corpora}

        def ask(profile: RankingProfile, part: EvaluationSet) -> Run:
            return rehearsals[part.name].run(profile, part.questions)

        task = progress.add_task("trials", total=(outer + 1) * (plan.trials + len(plan.space)))
        return tuned(sets, ask, start, plan, outer=outer, advance=partial(progress.advance, task))


def _write(report: Mapping[str, Any], profile: Path) -> None:
    text = json.dumps(report, indent=2, ensure_ascii=False) + "\n"
    write_whole(profile.with_suffix(".json"), text.encode())
    write_whole(profile.with_suffix(".md"), tuning_markdown(report).encode())


def _print(report: Mapping[str, Any], console: Console) -> None:
    table = Table(title="held out", title_justify="left")
    table.add_column("set")
    table.add_column("metric")
    for title in ("n", "start", "tuned", "gain", "interval", "p"):
        table.add_column(title, justify="right")
    for name, row in report["held_out"]["sets"].items():
        numbers = (f"{row['start']:.1f}", f"{row['tuned']:.1f}", f"{row['gain']:+.2f}")
        interval = f"{row['low']:+.2f} to {row['high']:+.2f}"
        table.add_row(name, row["metric"], str(row["queries"]), *numbers, interval, f"{row['p']:.4f}")
    console.print(table)
    console.print(verdict(report))
    for key, value in report["constants"].items():
        console.print(f"{key}: {report['before'][key]} -> {value}", markup=False)
