"""What a search maximises: one figure over several sets, every set counting alike.

    mean over sets of m(set)  -  penalty x mean over sets of max(0, start(set) - m(set))

m is the set's metric with the constants tried, start the same with the profile the search starts from.
The penalty is for what gets worse: with 1, a point lost on one set weighs as much as two points won on
another, so that constants that please many questions of one kind at the cost of another do not win.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import fmean
from typing import Final

from helix_lab.measures.metrics import METRICS, Scores
from helix_shared.errors import InvalidInputError

DEFAULT_METRIC: Final = "nDCG@10"


@dataclass(frozen=True, slots=True)
class Objective:
    """The metric, where a set has another one, and the penalty for a set that loses."""

    metric: str = DEFAULT_METRIC
    of_sets: Mapping[str, str] = field(default_factory=dict)
    penalty: float = 1.0

    def metric_of(self, set_name: str) -> str:
        """The metric that counts on this set."""
        return self.of_sets.get(set_name, self.metric)

    def mean(self, set_name: str, scores: Scores) -> float:
        """Mean of the set's metric over the questions, 0 to 1."""
        metric = self.metric_of(set_name)
        return fmean(row[metric] for row in scores.values())

    def value(self, means: Mapping[str, float], start: Mapping[str, float]) -> float:
        """The figure to maximise; both by set name."""
        lost = fmean(max(0.0, start[name] - mean) for name, mean in means.items())
        return fmean(means.values()) - self.penalty * lost


def read_objective(text: str, *, sets: list[str], penalty: float) -> Objective:
    """`nDCG@10`, or one with exceptions: `nDCG@10,locomo=R@10`.

    Raises:
        InvalidInputError: a metric or a set is unknown; names the known ones.
    """
    metric, of_sets = DEFAULT_METRIC, {}
    for item in (item.strip() for item in text.split(",") if item.strip()):
        name, equals, of_set = item.rpartition("=")
        if of_set not in METRICS:
            raise InvalidInputError("objective", f"unknown: {of_set!r}; known: {', '.join(METRICS)}")
        if equals and name not in sets:
            raise InvalidInputError("objective", f"unknown set: {name!r}; tuned on: {', '.join(sets)}")
        if equals:
            of_sets[name] = of_set
        else:
            metric = of_set
    return Objective(metric, of_sets, penalty)
