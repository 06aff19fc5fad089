"""Nested cross-validation: what a search brings on questions it has never seen.

For every outer fold a search of its own chooses constants on the other questions, and the fold judges
them beside the start (Varma and Simon, "Bias in error estimation when using cross-validation for model
selection", BMC Bioinformatics 2006). Every question judges once. Only then are the constants that are
written searched, on all questions: their own score says too much, the held-out one does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

import numpy as np

from helix_lab.measures.intervals import Difference, differences
from helix_lab.measures.macro import macro_intervals
from helix_lab.measures.metrics import Scores, score
from helix_lab.sets.answers import Run
from helix_lab.sets.data import EvaluationSet
from helix_lab.tuning.objective import Objective
from helix_lab.tuning.search import Advance, Ask, Found, Plan, search
from helix_lab.tuning.splits import Split, inner_folds, outer_splits
from helix_query.profile.profile import RankingProfile


@dataclass(frozen=True, slots=True)
class Judged:
    """One outer fold: what its search found, and by set the scores of its held-out questions."""

    found: Found
    tuned: Mapping[str, Scores]
    start: Mapping[str, Scores]
    tuned_ms: float
    """Mean time of the stages from fusion on; not part of the objective, but worth knowing."""
    start_ms: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """All folds, and the search on all questions."""

    folds: Sequence[Judged]
    final: Found


def tuned(
    sets: Sequence[EvaluationSet],
    ask: Ask,
    start: RankingProfile,
    plan: Plan,
    *,
    outer: int,
    advance: Advance = lambda: None,
) -> Outcome:
    """Judge the search on `outer` folds, then search on everything; `outer` + 1 searches in all.

    Raises:
        InvalidInputError: a fold would have too few questions; said before anything is asked.
    """
    splits = outer_splits(sets, folds=outer, seed=plan.seed)
    plans = [replace(plan, seed=plan.seed + number + 1) for number in range(outer)]
    for split, own in zip(splits, plans, strict=True):
        inner_folds(split.training, folds=own.inner, seed=own.seed)  # before an hour of work
    folds = [
        judged(split, ask, start, own, advance=advance) for split, own in zip(splits, plans, strict=True)
    ]
    return Outcome(folds, search(sets, ask, start, plan, advance=advance))


def judged(
    split: Split, ask: Ask, start: RankingProfile, plan: Plan, *, advance: Advance = lambda: None
) -> Judged:
    """Search on the training part, then ask the held-out part with what was found and with the start."""
    found = search(split.training, ask, start, plan, advance=advance)
    runs = [{part.name: ask(profile, part) for part in split.held_out} for profile in (found.profile, start)]
    tuned_scores, start_scores = (
        {part.name: score(run[part.name], part) for part in split.held_out} for run in runs
    )
    return Judged(found, tuned_scores, start_scores, *map(_milliseconds, runs))


def _milliseconds(runs: Mapping[str, Run]) -> float:
    return fmean(answer.milliseconds for run in runs.values() for answer in run.answers)


def held_out(folds: Sequence[Judged], objective: Objective) -> dict[str, Difference]:
    """What the searches bring over the start in each set's metric, every question judging once."""
    by_set = dict(_pooled(folds, objective))
    return {name: differences(ours, theirs)["metric"] for name, (ours, theirs) in by_set.items()}


def held_out_overall(folds: Sequence[Judged], objective: Objective) -> tuple[float, float, float]:
    """The same as macro mean over the sets, with the ends of its interval."""
    tables = [
        np.array([[ours[name]["metric"] - theirs[name]["metric"]] for name in ours])
        for _, (ours, theirs) in _pooled(folds, objective)
    ]
    mean, low, high = (float(column[0]) for column in macro_intervals(tables))
    return mean, low, high


def _pooled(folds: Sequence[Judged], objective: Objective) -> Iterator[tuple[str, tuple[Scores, Scores]]]:
    """By set: the metric of every question, tuned and start."""
    for name in folds[0].tuned:
        metric = objective.metric_of(name)
        ours = {q: {"metric": row[metric]} for fold in folds for q, row in fold.tuned[name].items()}
        theirs = {q: {"metric": row[metric]} for fold in folds for q, row in fold.start[name].items()}
        yield name, (ours, theirs)
