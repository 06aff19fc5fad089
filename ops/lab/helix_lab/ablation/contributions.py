"""Contribution of a part: the scores with it minus the scores without it, question by question.

Positive is good for every metric: where less is better (Stale), the sign is inverted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from helix_lab.ablation.timing import Cost
from helix_lab.measures.intervals import Difference, Matrix, differences
from helix_lab.measures.macro import macro_intervals
from helix_lab.measures.metrics import STALE_METRICS, Scores

HEADLINE: Final = ("R@5", "R@10", "Hit@1", "MRR@10", "nDCG@10", "Stale@1")


@dataclass(frozen=True, slots=True)
class Ablated:
    """One set: scores of the whole profile, and without each part that was on, with its cost."""

    name: str
    whole: Scores
    without: Mapping[str, Scores]
    costs: Mapping[str, Cost]
    """Empty where nothing was timed."""

    @property
    def worths(self) -> dict[str, dict[str, Difference]]:
        """By part and headline metric."""
        whole = goodness(self.whole)
        return {part: differences(whole, goodness(scores)) for part, scores in self.without.items()}


def goodness(scores: Scores) -> Scores:
    """The headline metrics, turned so that more is better."""
    return {
        question: {
            name: 1.0 - row[name] if name in STALE_METRICS else row[name] for name in HEADLINE if name in row
        }
        for question, row in scores.items()
    }


def overall(sets: Sequence[Ablated]) -> dict[str, dict[str, Any]]:
    """Macro mean over the sets that have a metric: by part and metric, in percentage points."""
    parts = list(dict.fromkeys(part for one in sets for part in one.without))
    found: dict[str, dict[str, Any]] = {part: {} for part in parts}
    for metric in HEADLINE:
        tables = [table for one in sets if len(table := _table(one, parts, metric))]
        if not tables:
            continue
        for part, worth, low, high in zip(parts, *macro_intervals(tables), strict=True):
            row = {"worth": points(worth), "low": points(low), "high": points(high), "sets": len(tables)}
            found[part][metric] = row
    return found


def _table(one: Ablated, parts: Sequence[str], metric: str) -> Matrix:
    """Contribution of every part (column) for every question (row) that has the metric."""
    whole = goodness(one.whole)
    without = {part: goodness(scores) for part, scores in one.without.items()}
    questions = [question for question, row in whole.items() if metric in row]
    rows = [
        [whole[question][metric] - without[part][question][metric] for part in parts]
        for question in questions
    ]
    return np.array(rows, dtype=np.float64)


def points(share: float) -> float:
    """Percentage points with two decimals, because contributions are small."""
    return round(100 * float(share), 2) + 0.0  # no -0.0 in a report
