"""Stage 6, the scoring of published recipes: blended signals, factors, scale and threshold.

Final score = relevance x the factors in their order x scale; `stages.rank` multiplies. Each factor is an
array under its name for the explanation. A constant at its default leaves its factor out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from helix_memory.arithmetic import normalised
from helix_memory.vocabulary.memory_types import MEMORY_TYPES
from helix_query.recall.relevance import Signal
from helix_query.recall.stages.normalise import normalised_signal
from helix_shared.moments import MICROSECONDS_PER_DAY

if TYPE_CHECKING:
    from datetime import datetime

    from numpy.typing import NDArray

    from helix_query.profile.recipes.scoring import Recipe
    from helix_query.recall.candidate_signals import CandidateSignals
    from helix_query.recall.candidates import Candidates

Factors = dict[str, "NDArray[np.float64]"]

LN_2: Final = 0.693
"""ln 2 as the recipe prints it."""
NO_PROJECT: Final = 0
"""Code of the empty project."""


def blended_signals(candidates: Candidates, *, constants: Recipe) -> tuple[Signal, Signal]:
    """Fused score and cosine for the method `blend`; a negative cosine counts 0."""
    cosine = np.maximum(candidates.cosine, 0.0)
    if constants.fused_normalisation == "minmax":
        fused = normalised_signal(candidates.fused, flat=1.0)
    else:
        most = float(candidates.fused.max(initial=0.0))
        whole = most if most > 0 else 1.0
        fused = Signal(candidates.fused, normalised(candidates.fused, 0.0, whole), 0.0, whole)
    return fused, Signal(cosine, cosine)


def recipe_factors(
    signals: CandidateSignals,
    *,
    constants: Recipe,
    now: datetime,
    project_code: int | None = None,
) -> Factors:
    """The recipe's factors that are on, in the order in which they are multiplied."""
    factors: Factors = {}
    if constants.access_days > 0:
        factors["access_decay"] = 1.0 / (1.0 + _days(signals.touched_at, now) / constants.access_days)
    projects = (constants.same_project, constants.other_project, constants.no_project)
    if project_code is not None and projects != (1.0, 1.0, 1.0):
        factors["project"] = _by_project(signals.project_code, project_code, *projects)
    if (constants.importance_base, constants.importance_gain) != (1.0, 0.0):
        factors["importance"] = constants.importance_base + constants.importance_gain * signals.salience
    if constants.half_life_days > 0:
        fading = np.exp(-LN_2 * _days(signals.occurred_at, now) / constants.half_life_days)
        fading = constants.decay_floor + (1.0 - constants.decay_floor) * fading
        episodic = signals.type_code == MEMORY_TYPES.index("episodic")
        factors["episodic_decay"] = np.where(episodic, fading, 1.0)
    if constants.access_gain > 0:
        factors["accesses"] = 1.0 + constants.access_gain * np.log1p(
            np.maximum(signals.access_count, 0).astype(np.float64)
        )
    return factors


def scale_factor(scores: NDArray[np.float64], *, constants: Recipe) -> float:
    """Factor on all scores: 1, or the factor that makes the best score 1."""
    most = float(scores.max(initial=0.0))
    return 1.0 / most if constants.scale_to_best and most > 0 else 1.0


def reaches_threshold(
    relevance: NDArray[np.float64], scores: NDArray[np.float64], *, constants: Recipe
) -> NDArray[np.bool_]:
    """Whether each candidate reaches the recipe's threshold; all do if there is none."""
    held = relevance if constants.threshold_on == "relevance" else scores
    reached: NDArray[np.bool_] = held >= constants.threshold
    return reached if constants.threshold > 0 else np.ones(len(scores), bool)


def _days(moments: NDArray[np.int64], now: datetime) -> NDArray[np.float64]:
    """Days since `moments` (microseconds); 0 for the future."""
    days = (now.timestamp() * 1e6 - moments.astype(np.float64)) / MICROSECONDS_PER_DAY
    passed: NDArray[np.float64] = np.maximum(days, 0.0)
    return passed


def _by_project(
    codes: NDArray[np.int64], own: int, same: float, other: float, none: float
) -> NDArray[np.float64]:
    return np.where(codes == own, same, np.where(codes == NO_PROJECT, none, other))
