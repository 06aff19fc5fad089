"""`helix-lab calibrate`: fits the probabilities of abstention, judges them, writes them into a profile.

`unanswerable_questions` chooses questions that no corpus can answer, `observations` asks, `models` fits,
`assessment` leaves every set out once. Run it again after any change of the pipeline.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final

import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console

from helix_lab.calibration.assessment import figures, held_out, rates, rates_by_size, threshold_of
from helix_lab.calibration.attribute_questions import attribute_questions
from helix_lab.calibration.models import OF_ANSWERS, OF_MEMORIES, Models, check_enough, fitted
from helix_lab.calibration.observations import Observation, kept_at, load, observe, save
from helix_lab.calibration.small_stores import small_stores
from helix_lab.calibration.summary import RATES, comment_of, print_summary
from helix_lab.calibration.tenants_left_out import tenants_left_out
from helix_lab.calibration.unanswerable_questions import Asked, asked_of
from helix_lab.evaluate import Evaluation, meta, opened, progress_bar
from helix_lab.options import CorpusFrom, ProfilesFolder, SetNames
from helix_lab.profile_text import check_profile_file, write_table
from helix_lab.ranking_profiles import one_profile
from helix_lab.sets.build import corpus_key
from helix_lab.sets.cached.corpora import in_process
from helix_lab.sets.data import EvaluationSet
from helix_lab.sets.load import load_sets
from helix_query.profile.files import load_profiles
from helix_query.profile.overrides import with_constants
from helix_query.profile.profile import RankingProfile
from helix_query.profile.sections.abstention import Abstain
from helix_shared.encoders.model import read_card
from helix_shared.encoders.store import default_model
from helix_shared.errors import InvalidInputError
from helix_shared.machine.whole_file import write_whole

PIPED_WIDTH: Final = 130
"""Width in columns without a terminal."""
COSTS: Final = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1)
"""Shares of well answered questions held back, for which the curve is drawn."""


def calibrate_command(
    data: Annotated[Path, typer.Option(help="Folder of the development sets.")],
    out: Annotated[Path, typer.Option(help="NAME.toml: its [abstain] is replaced; made if it is not there.")],
    sets: SetNames = "",
    profile: Annotated[str, typer.Option(help="The ranking profile that is calibrated.")] = "helix",
    false_abstention: Annotated[
        float,
        typer.Option(help="Share of any set's well answered questions that may be held back.", min=0, max=1),
    ] = 0.01,
    strangers: Annotated[int, typer.Option(help="Questions asked of each other set's corpus.", min=1)] = 20,
    attributes: Annotated[
        int, typer.Option(help="Questions to each set for something nobody told about a name.", min=0)
    ] = 80,
    of_memories: Annotated[str, typer.Option(help="Features of a memory.")] = ",".join(OF_MEMORIES),
    of_answers: Annotated[str, typer.Option(help="Features of an answer.")] = ",".join(OF_ANSWERS),
    stores: Annotated[
        int, typer.Option(help="Stores of 1, 3, 10, 30 and 100 memories cut from each set; 0: none.", min=0)
    ] = 4,
    seed: Annotated[int, typer.Option(help="The same seed asks the same strangers.", min=0)] = 0,
    report: Annotated[Path | None, typer.Option(help="All figures as JSON.")] = None,
    corpus_from: CorpusFrom = None,
    profiles_dir: ProfilesFolder = None,
    limit: Annotated[int | None, typer.Option(help="Answerable questions of each set at most.", min=1)] = 300,
) -> None:
    """Fit the probabilities that memories and answers are relevant, and the threshold of abstention.

    The figures are of held-out sets; the written models are fitted to all sets.
    """
    memory_names, answer_names = _names(of_memories, "memory"), _names(of_answers, "answer")
    start = one_profile(profile, profiles_dir)
    check_profile_file(out, start, "abstain")
    loaded = [_limited(one, limit) for one in load_sets(data, sets, corpus_from=corpus_from)]
    evaluation = in_process(profiles_dir)
    console = Console(width=None if sys.stdout.isatty() else PIPED_WIDTH)
    observations = _observations(
        loaded,
        start,
        evaluation,
        console,
        strangers=strangers,
        attributes=attributes,
        stores=stores,
        seed=seed,
    )
    check_enough(observations)
    held = held_out(
        observations,
        of_memories=memory_names,
        of_answers=answer_names,
        false_abstention=false_abstention,
    )
    models = fitted(observations, of_memories=memory_names, of_answers=answer_names)
    threshold = threshold_of(observations, models, false_abstention=false_abstention)
    part = _part(models, threshold, evaluation)
    answers = models.answers(observations)
    found: dict[str, Any] = {
        "abstain": part.model_dump(mode="json"),
        "held_out": figures(held),
        "held_out_threshold": rates(observations, held.answers, held.thresholds),
        "threshold": rates(observations, answers, threshold),
        "tenants_left_out": tenants_left_out(observations, of_memories=memory_names, of_answers=answer_names),
        "by_size": rates_by_size(observations, held.answers, held.thresholds),
        "cost": false_abstention,
        "curve": _curve(observations, models, answers),
        "meta": meta(evaluation),
    }
    comment = comment_of(found, [one.name for one in loaded])
    write_table(out, start, "abstain", part, comment=comment)
    if report is not None:
        write_whole(report, (json.dumps(found, indent=2) + "\n").encode())
    print_summary(found, console)
    console.print(f"written: {out}", markup=False)


def _observations(
    sets: Sequence[EvaluationSet],
    profile: RankingProfile,
    evaluation: Evaluation,
    console: Console,
    *,
    strangers: int,
    attributes: int,
    stores: int,
    seed: int,
) -> list[Observation]:
    """Those of every set and of the small stores cut from it."""
    model = read_card(default_model(evaluation.models)).checksum
    found: list[Observation] = []
    with progress_bar(console) as progress:
        for data, asked in _asked(sets, strangers=strangers, attributes=attributes, stores=stores, seed=seed):
            key = corpus_key(data, model)
            path = kept_at(evaluation.home / "observations", data, asked, profile, key)
            kept = load(path)
            if kept is None:
                with opened(data, evaluation, progress) as corpus:
                    task = progress.add_task(data.name, total=len(asked))
                    kept = observe(corpus, asked, profile, advance=partial(progress.advance, task))
                    progress.update(task, visible=False)
                save(path, kept)
            found += kept
    return found


def _asked(
    sets: Sequence[EvaluationSet], *, strangers: int, attributes: int, stores: int, seed: int
) -> Iterator[tuple[EvaluationSet, Sequence[Asked]]]:
    for one in sets:
        asked = asked_of(one, sets, strangers=strangers, seed=seed)
        yield one, [*asked, *attribute_questions(one, count=attributes, seed=seed)]
    for one in sets if stores else ():
        cut = small_stores(one, stores=stores, seed=seed)
        yield cut.data, cut.asked


def _limited(data: EvaluationSet, limit: int | None) -> EvaluationSet:
    """At most `limit` answerable questions; of the others there are never too many."""
    kept = replace(data, questions=data.answerable).sample(limit).questions
    return replace(data, questions=kept + data.unanswerable)


def _names(text: str, kind: str) -> list[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise InvalidInputError(f"abstain.{kind}", "has no feature to fit; name one")
    # the profile refuses an unknown feature: check before the questions are asked
    with_constants(load_profiles()["helix"], {f"abstain.{kind}": {"coefficients": dict.fromkeys(names, 0.0)}})
    return names


def _part(models: Models, threshold: float, evaluation: Evaluation) -> Abstain:
    encoder = read_card(default_model(evaluation.models)).encoder_checksum
    return Abstain(encoder=encoder, threshold=threshold, memory=models.memory, answer=models.answer)


def _curve(
    observations: Sequence[Observation], models: Models, answers: NDArray[np.float64]
) -> list[dict[str, Any]]:
    rows = []
    for cost in COSTS:
        threshold = threshold_of(observations, models, false_abstention=cost)
        by_set = list(rates(observations, answers, threshold).values())
        row: dict[str, Any] = {"cost": cost, "threshold": threshold}
        rows.append(row | {key: _mean(by_set, key) for key in RATES})
    return rows


def _mean(by_set: Sequence[Mapping[str, Any]], key: str) -> float | None:
    known = [row[key] for row in by_set if row[key] is not None]
    return sum(known) / len(known) if known else None
