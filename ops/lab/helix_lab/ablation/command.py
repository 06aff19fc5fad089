"""`helix-lab ablate`: what every signal, channel and stage contributes, by switching it off.

`switches` lists the parts. Rankings come from `sets.cached`, times from whole recalls.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from helix_lab.ablation.contributions import Ablated
from helix_lab.ablation.switches import Switch, switches_of
from helix_lab.ablation.tables import ablation_markdown, ablation_report, ablation_table
from helix_lab.ablation.timing import cost
from helix_lab.evaluate import Evaluation, meta, opened, progress_bar
from helix_lab.measures.metrics import score
from helix_lab.options import CorpusFrom, DataFolder, ProfilesFolder, QuestionLimit, SetNames
from helix_lab.ranking_profiles import one_profile
from helix_lab.report.write import check_report_name
from helix_lab.sets.cached.corpora import in_process, load_answerable
from helix_lab.sets.cached.corpus import TOP_K, CachedCorpus
from helix_lab.sets.data import EvaluationSet
from helix_lab.sets.direct import DirectCorpus
from helix_query.profile.profile import RankingProfile


def ablate_command(
    data: DataFolder,
    sets: SetNames = "",
    profile: Annotated[str, typer.Option(help="The ranking profile whose parts are switched off.")] = "helix",
    out: Annotated[Path | None, typer.Option(help="Report: JSON, and Markdown beside it.")] = None,
    corpus_from: CorpusFrom = None,
    profiles_dir: ProfilesFolder = None,
    limit: QuestionLimit = None,
    timed: Annotated[int, typer.Option(help="Questions of each set timed; 0: no times.", min=0)] = 30,
) -> None:
    """Switch off each part of recall in turn and show what it contributes per set, with intervals.

    Runs in this process. A part that is already off is listed and not run.
    """
    check_report_name(out)
    whole = one_profile(profile, profiles_dir)
    loaded = load_answerable(data, sets, corpus_from, limit)
    evaluation, console = in_process(profiles_dir), Console()
    switches = switches_of(whole)
    done: list[Ablated] = []
    report: Mapping[str, Any] = {}
    for one in loaded:
        done.append(_ablate(one, evaluation, whole, switches, timed, console))
        report = {**ablation_report(whole, switches, done), "meta": meta(evaluation)}
        console.print(ablation_table(one.name, report["sets"][one.name]))
        if out is not None:
            _write(report, out)
    if len(done) > 1:
        console.print(ablation_table(f"mean of {len(done)} sets", report["overall"]))
    if out is not None:
        console.print(f"written: {out} and beside it {out.with_suffix('.md').name}")


def _ablate(
    data: EvaluationSet,
    evaluation: Evaluation,
    whole: RankingProfile,
    switches: Sequence[Switch],
    timed: int,
    console: Console,
) -> Ablated:
    with progress_bar(console) as progress, opened(data, evaluation, progress) as corpus:
        task = progress.add_task(f"{data.name}: parts", total=len(switches) + 1)
        advance = partial(progress.advance, task)
        return ablated(corpus, whole, switches, timed=timed, advance=advance)


def ablated(
    corpus: DirectCorpus,
    whole: RankingProfile,
    switches: Sequence[Switch],
    *,
    timed: int = 0,
    advance: Callable[[], None] = lambda: None,
) -> Ablated:
    """Scores of the set with `whole` and without each part, and what the parts cost on `timed` questions."""
    data, rehearsal = corpus.data, CachedCorpus(corpus)
    baseline = score(rehearsal.run(whole), data)
    advance()
    asked = data.sample(timed).questions if timed else []
    without, costs = {}, {}
    for switch in switches:
        profile = switch.without(whole)
        if profile != whole:
            without[switch.name] = score(rehearsal.run(profile), data)
            if asked:
                costs[switch.name] = cost(corpus, asked, whole, profile, top_k=TOP_K)
        advance()
    return Ablated(data.name, baseline, without, costs)


def _write(report: Mapping[str, Any], out: Path) -> None:
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    out.with_suffix(".md").write_text(ablation_markdown(report), encoding="utf-8")
