"""One search for the best constants of a training part, by cross-validation over its inner folds.

It gets the training questions and a function that asks them; `nested` keeps the held-out questions.
Constants are not fitted to a fold, so every fold scores every trial. A trial's figure is the mean of the
objective over the folds, each with its own penalty: constants that win on average but lose on one of the
folds are not chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Final

import optuna

from helix_lab.measures.metrics import score
from helix_lab.sets.answers import Run
from helix_lab.sets.data import EvaluationSet
from helix_lab.tuning.objective import Objective
from helix_lab.tuning.space import Knob, own_values, proposed
from helix_lab.tuning.splits import inner_folds
from helix_query.profile.overrides import with_constants
from helix_query.profile.profile import RankingProfile

Ask = Callable[[RankingProfile, EvaluationSet], Run]
"""Asks the questions of a part of a set."""
Advance = Callable[[], None]

CONSTANTS: Final = "constants"
SETTLE_FOR: Final = 0.001
"""A tenth of a point: the most that constants close to the start may cost."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Settings of a search."""

    space: Sequence[Knob]
    objective: Objective
    trials: int
    inner: int
    """Inner folds."""
    seed: int


@dataclass(frozen=True, slots=True)
class Found:
    """The best constants of a search; none where nothing beat the start."""

    profile: RankingProfile
    constants: Mapping[str, Any]
    value: float
    """Cross-validated objective, 0 to 1; `start_value` is the same of the profile searched from."""
    start_value: float
    pruned: int
    """Trials stopped after some of the folds."""


def search(
    training: Sequence[EvaluationSet],
    ask: Ask,
    start: RankingProfile,
    plan: Plan,
    *,
    advance: Advance = lambda: None,
) -> Found:
    """The best of `plan.trials` proposals and `start` itself; the same for the same seed.

    Proposals by tree-structured Parzen estimators (Bergstra et al., NIPS 2011); a trial below the
    median of the earlier ones after a fold is stopped. Then constants without effect on the questions go
    back to the start, see `_settled`.

    Raises:
        InvalidInputError: an inner fold would have too few questions.
    """
    training_part = _Training(inner_folds(training, folds=plan.inner, seed=plan.seed), ask, start, plan)

    def tried(trial: optuna.Trial) -> float:
        constants = proposed(trial, plan.space, start)
        trial.set_user_attr(CONSTANTS, constants)
        values: list[float] = []
        for step, value in enumerate(training_part.values(with_constants(start, constants))):
            values.append(value)
            trial.report(fmean(values), step)
            if trial.should_prune() and step + 1 < plan.inner:
                raise optuna.TrialPruned
        return fmean(values)

    study = _study(plan)
    study.enqueue_trial(own_values(plan.space, start))
    study.optimize(tried, n_trials=plan.trials, callbacks=[lambda *_: advance()])
    return _best(study, training_part, plan.space, advance)


class _Training:
    """The inner folds, and what the start reaches on each."""

    def __init__(
        self, folds: Sequence[Sequence[EvaluationSet]], ask: Ask, start: RankingProfile, plan: Plan
    ) -> None:
        self._folds, self._ask, self._objective = folds, ask, plan.objective
        self.start = start
        self._starts = [self._means(fold, start) for fold in folds]
        self.start_value = fmean(plan.objective.value(means, means) for means in self._starts)

    def values(self, profile: RankingProfile) -> Iterator[float]:
        """The objective on one fold after the other; a fold is asked only when its figure is read."""
        for fold, start in zip(self._folds, self._starts, strict=True):
            yield self._objective.value(self._means(fold, profile), start)

    def _means(self, fold: Sequence[EvaluationSet], profile: RankingProfile) -> dict[str, float]:
        return {
            part.name: self._objective.mean(part.name, score(self._ask(profile, part), part)) for part in fold
        }


def _study(plan: Plan) -> optuna.Study:
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    startup = max(1, min(10, plan.trials // 4))
    return optuna.create_study(
        direction="maximize",
        sampler=optuna.samplers.TPESampler(seed=plan.seed, n_startup_trials=startup),
        pruner=optuna.pruners.MedianPruner(n_startup_trials=startup),
    )


def _best(study: optuna.Study, training: _Training, space: Sequence[Knob], advance: Advance) -> Found:
    states = [trial.state for trial in study.trials]
    pruned = states.count(optuna.trial.TrialState.PRUNED)
    start_value = training.start_value
    if optuna.trial.TrialState.COMPLETE not in states or study.best_value <= start_value:
        return Found(training.start, {}, start_value, start_value, pruned)
    found = study.best_trial.user_attrs[CONSTANTS]
    constants, value = _settled(found, study.best_value, training, space, advance)
    if value <= start_value:
        return Found(training.start, {}, start_value, start_value, pruned)
    return Found(with_constants(training.start, constants), constants, value, start_value, pruned)


def _settled(
    constants: Mapping[str, Any],
    best: float,
    training: _Training,
    space: Sequence[Knob],
    advance: Advance,
) -> tuple[dict[str, Any], float]:
    """`constants` without those that can go back to the start for at most `SETTLE_FOR` in all.

    A trial changes every constant, also those without effect on these questions: they would be noise in
    the profile, with an effect on other questions.
    """
    kept, value = dict(constants), best
    for knob in space:
        advance()
        fewer = {key: held for key, held in kept.items() if key not in {knob.key, knob.complement}}
        if fewer == kept:
            continue
        without = fmean(training.values(with_constants(training.start, fewer)))
        if without >= best - SETTLE_FOR:
            kept, value = fewer, without
    return kept, value
