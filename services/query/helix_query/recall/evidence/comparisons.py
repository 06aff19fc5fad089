"""The gains of the first candidates from comparing them with the query."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from helix_memory.arithmetic import ADD, normalised, stepped, weighted
from helix_memory.explanation import CROSS_ENCODER, LATE_INTERACTION
from helix_query.recall.candidates import StandardGains

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helix_query.recall.candidates import Candidates, LateInteraction

LEAST_DEVIATION: Final = 1e-9
"""Standard deviation below which all compared candidates count as equal."""


def comparisons(before: NDArray[np.float64], candidates: Candidates) -> dict[str, StandardGains]:
    """What each comparison adds, by the name of its step, in their order; `before` are the scores of all."""
    found: dict[str, StandardGains] = {}
    if candidates.late_interaction is not None:
        found[LATE_INTERACTION] = interaction_gains(before, candidates.late_interaction)
        before = stepped(before, ADD, found[LATE_INTERACTION].gains)
    if (cross := candidates.cross_encoding) is not None:
        found[CROSS_ENCODER] = standard_gains(before, cross.positions, cross.logits, cross.weight)
    return found


def interaction_gains(before: NDArray[np.float64], late: LateInteraction) -> StandardGains:
    """What late interaction adds to the scores `before`; 0 for candidates that were not compared.

    It is by the mean similarity of the words, weighted by rarity.
    """
    rarities = late.rarities.tolist()
    total = weighted((1.0, rarity) for rarity in rarities)
    scores = weighted(zip(rarities, late.similarities, strict=True)) / total
    return standard_gains(before, late.positions, scores, late.weight)


def question_match(candidates: Candidates, late: StandardGains | None, share: float) -> NDArray[np.float64]:
    """How well each candidate matches the words of the query, 0 to 1, by late interaction.

    It is the result of a candidate over `share` x the best result; 0 for candidates that were not compared, 1
    for all if none was compared or none is similar.
    """
    enough = 0.0 if late is None else share * late.found.max(initial=0.0)
    if candidates.late_interaction is None or late is None or enough <= 0.0:
        return np.ones(len(candidates))
    met = np.zeros(len(candidates))
    met[candidates.late_interaction.positions] = np.clip(late.found / enough, 0.0, 1.0)
    return met


def standard_gains(
    before: NDArray[np.float64], positions: NDArray[np.int64], found: NDArray[np.float64], weight: float
) -> StandardGains:
    """What the results `found` of the candidates at `positions` add to the scores `before` of all.

    They are standardised over the compared candidates and count in standard deviations of their scores, times
    `weight`. No score falls below 0.
    """
    compared, (mean, deviation) = before[positions], _mean_and_deviation(found)
    scale = weight * _mean_and_deviation(compared)[1]
    if deviation <= LEAST_DEVIATION:
        deviation, scale = 1.0, 0.0
    gains = np.zeros(len(before))
    gains[positions] = np.maximum(normalised(found, mean, deviation) * scale, -compared)
    return StandardGains(found, mean, deviation, scale, gains)


def _mean_and_deviation(values: NDArray[np.float64]) -> tuple[float, float]:
    """Mean and standard deviation of one value or more, to the last bit the same in any order."""
    count = len(values)
    mean = math.fsum(values.tolist()) / count
    return mean, math.sqrt(math.fsum(np.square(values - mean).tolist()) / count)
