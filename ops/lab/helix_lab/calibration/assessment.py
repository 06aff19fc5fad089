"""Judges fitted probabilities and thresholds on sets that the models never saw.

Every set is left out once; of fewer than `SETS` sets every fifth question, wherever it is asked. Brier score
and expected calibration error over ten bins are weighted so that the assumed share of answerable questions
holds. AUROC is between answerable questions and those without an answer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from helix_lab.calibration.models import Models, fitted, truths
from helix_lab.calibration.observations import Observation
from helix_lab.calibration.sample_weights import near, nearest_donors, weights
from helix_lab.calibration.small_stores import SUFFIX
from helix_lab.measures.roc import area_under_roc
from helix_query.recall.stages.abstain import LOG_SIZE

SETS: Final = 3
FOLDS: Final = 5
BINS: Final = 10
PARTS: Final = 10_000
"""Digits of a threshold."""
FEW: Final = 20
"""Sets with fewer such questions do not choose the threshold: 1 % of them is less than one question."""
LEADING: Final = 3
"""A question is answered well when one of so many first memories is relevant."""
SIZES: Final = (1, 10, 100, 1_000, 10_000, 100_000, 1_000_000)
"""Upper ends of the classes of store sizes."""

Column = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Observations with the probabilities of models that were fitted without their set."""

    observations: Sequence[Observation]
    answers: Column
    memories: Column
    """One after the other, as `truths` has them."""
    thresholds: Column
    """By observation: the threshold that the other sets would have chosen."""


def held_out(
    observations: Sequence[Observation],
    *,
    of_memories: Sequence[str],
    of_answers: Sequence[str],
    false_abstention: float,
) -> HeldOut:
    """Leave every set out once."""
    groups = _groups(observations)
    lengths = [len(one.relevant) for one in observations]
    answers, thresholds = np.zeros(len(observations)), np.zeros(len(observations))
    memories, of_group = np.zeros(sum(lengths)), np.repeat(groups, lengths)
    for group in np.unique(groups):
        rest = [one for one, where in zip(observations, groups, strict=True) if where != group]
        these = [one for one, where in zip(observations, groups, strict=True) if where == group]
        models = fitted(rest, of_memories=of_memories, of_answers=of_answers)
        answers[groups == group] = models.answers(these)
        memories[of_group == group] = models.memories(these)
        thresholds[groups == group] = threshold_of(rest, models, false_abstention=false_abstention)
    return HeldOut(observations, answers, memories, thresholds)


def threshold_of(observations: Sequence[Observation], models: Models, *, false_abstention: float) -> float:
    """The greatest threshold that costs no set more than this share of its well answered questions.

    Those have a relevant memory among the first `LEADING`; a set with fewer than `FEW` of them is ignored.
    """
    probabilities, names = models.answers(observations), _names(observations)
    leading = _leading(observations)
    least = [
        float(np.quantile(probabilities[here], false_abstention, method="lower"))
        for name in np.unique(names)
        if (here := (names == name) & leading).sum() >= FEW
    ]
    # rounded down: an answer at the threshold must not fall below it
    return math.floor(min(least, default=0.0) * PARTS) / PARTS


def figures(held: HeldOut) -> dict[str, Any]:
    """By set, and for `all` of them: the calibration of the held-out probabilities."""
    observations, names = held.observations, _names(held.observations)
    everyone = {"all": np.ones(len(names), bool)}
    chosen = everyone | {name: names == name for name in dict.fromkeys(names.tolist())}
    return {name: _figures(held, where) for name, where in chosen.items() if observations}


def rates(observations: Sequence[Observation], answers: Column, thresholds: Column | float) -> dict[str, Any]:
    """By set: share held back of the answerable, and share answered of those that have no answer."""
    names, low = _names(observations), answers < thresholds
    close = near(observations, nearest_donors(observations))
    answerable, own = _of_kind(observations, "answerable"), _of_kind(observations, "unanswerable")
    found = {}
    for name in dict.fromkeys(names.tolist()):
        here = names == name
        found[name] = {
            "answerable": int((here & answerable).sum()),
            "false_abstention": _share(low[here & answerable]),
            "false_answer_own": _share(~low[here & own]),
            "false_answer_near": _share(~low[here & close & ~own]),
            "false_answer_far": _share(~low[here & ~answerable & ~close]),
        }
    return found


def rates_by_size(
    observations: Sequence[Observation], answers: Column, thresholds: Column | float
) -> dict[str, Any]:
    """By size of the store: the cost of a threshold, and the separation of the answerable questions.

    `held_back` counts questions with a relevant memory among the first `LEADING`.
    """
    low, leading = answers < thresholds, _leading(observations)
    without = ~_of_kind(observations, "answerable")
    close = near(observations, nearest_donors(observations)) & without
    classes = np.searchsorted(SIZES, [store_size(one) for one in observations])
    found = {}
    for number in np.unique(classes):
        here = classes == number
        found[f"up to {SIZES[min(number, len(SIZES) - 1)]:,}"] = {
            "well_answered": int((here & leading).sum()),
            "near": int((here & close).sum()),
            "held_back": _share(low[here & leading]),
            "false_answer_near": _share(~low[here & close]),
            "auroc": auroc(answers[here & leading], answers[here & close]),
            "said": _mean(answers[here & leading]),
            "said_near": _mean(answers[here & close]),
        }
    return found


def store_size(one: Observation) -> int:
    """Memories that the asker of a question may recall."""
    return round(math.expm1(one.answer["size"] * LOG_SIZE)) if "size" in one.answer else 0


def reliability(probabilities: Column, truth: Column, weighed: Column) -> list[dict[str, float]]:
    """Ten bins of equal width: weight (0 to 1), mean probability, and share that was true."""
    bins = np.minimum((probabilities * BINS).astype(np.int64), BINS - 1)
    rows = []
    for number in range(BINS):
        inside = (bins == number) & (weighed > 0)
        if inside.any():
            rows.append(
                {
                    "from": number / BINS,
                    "share": float(weighed[inside].sum() / weighed.sum()),
                    "said": float(np.average(probabilities[inside], weights=weighed[inside])),
                    "true": float(np.average(truth[inside], weights=weighed[inside])),
                }
            )
    return rows


def calibration_error(rows: Sequence[dict[str, float]]) -> float:
    """Expected calibration error: |said - true| by weight of the bin (Naeini, Cooper, Hauskrecht 2015)."""
    return sum(row["share"] * abs(row["said"] - row["true"]) for row in rows)


def auroc(positive: Column, negative: Column) -> float | None:
    """Area under the ROC curve; None where one kind is missing."""
    return area_under_roc(positive, negative) if len(positive) and len(negative) else None


def _figures(held: HeldOut, where: NDArray[np.bool_]) -> dict[str, Any]:
    observations = held.observations
    weighed = weights(observations)
    answerable, own = _of_kind(observations, "answerable"), _of_kind(observations, "unanswerable")
    attribute = _of_kind(observations, "attribute")
    close = near(observations, nearest_donors(observations))
    answered = np.array([float(one.answered) for one in observations])
    lengths = [len(one.relevant) for one in observations]
    members, truth = np.repeat(where, lengths), truths(observations)
    good = held.answers[where & answerable]
    answers = reliability(held.answers[where], answered[where], weighed[where])
    memories = reliability(held.memories[members], truth[members], np.repeat(weighed, lengths)[members])
    return {
        "questions": {
            "answerable": int((where & answerable).sum()),
            "unanswerable": int((where & own).sum()),
            "attribute": int((where & attribute).sum()),
            "near": int((where & close & ~own & ~attribute).sum()),
            "far": int((where & ~answerable & ~close).sum()),
        },
        "answer": {
            "auroc_own": auroc(good, held.answers[where & own]),
            "auroc_attribute": auroc(good, held.answers[where & attribute]),
            "auroc_near": auroc(good, held.answers[where & close & ~own & ~attribute]),
            "auroc_far": auroc(good, held.answers[where & ~answerable & ~close]),
            "brier": _brier(held.answers[where], answered[where], weighed[where]),
            "ece": calibration_error(answers),
            "reliability": answers,
        },
        "memory": {
            "auroc": auroc(held.memories[members & (truth == 1.0)], held.memories[members & (truth == 0.0)]),
            "brier": _brier(held.memories[members], truth[members], np.repeat(weighed, lengths)[members]),
            "ece": calibration_error(memories),
            "reliability": memories,
        },
    }


def _groups(observations: Sequence[Observation]) -> NDArray[np.str_]:
    # a set and the small stores cut from it hold the same questions
    names = np.array([one.set_name.removesuffix(SUFFIX) for one in observations])
    if len(np.unique(names)) >= SETS:
        return names
    # the same question is also asked of other tenants, and of small stores
    texts = {text: number for number, text in enumerate(dict.fromkeys(one.text for one in observations))}
    return np.array([str(texts[one.text] % FOLDS) for one in observations])


def _names(observations: Sequence[Observation]) -> NDArray[np.str_]:
    return np.array([one.set_name for one in observations])


def _of_kind(observations: Sequence[Observation], kind: str) -> NDArray[np.bool_]:
    return np.array([one.kind == kind for one in observations], bool)


def _leading(observations: Sequence[Observation]) -> NDArray[np.bool_]:
    return np.array([any(one.relevant[:LEADING]) for one in observations], bool)


def _mean(values: Column) -> float | None:
    return float(values.mean()) if len(values) else None


def _share(marks: NDArray[np.bool_]) -> float | None:
    return float(marks.mean()) if len(marks) else None


def _brier(probabilities: Column, truth: Column, weighed: Column) -> float:
    return float(np.average((probabilities - truth) ** 2, weights=weighed))
