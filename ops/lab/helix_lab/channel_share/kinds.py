"""What kind of text a development set holds, and its main metric.

Sets of one kind share the weight of one: three sets of code must not outvote one of conversation. A set that
is not named here is a kind of its own, with `nDCG@10` as metric.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from helix_lab.tuning.objective import DEFAULT_METRIC

KINDS: Final[Mapping[str, str]] = {
    "locomo": "conversation",
    "beam100k": "conversation",
    "longmemeval_mini": "conversation",
    "life": "life",
    "months": "life",
    "2wikimultihopqa": "multi-hop",
    "hotpotqa": "multi-hop",
    "hotpotqa_train100": "multi-hop",
    "musique_train100": "multi-hop",
    "code_change": "code",
    "code_exact": "code",
    "cosqa": "code",
    "scifact": "science",
    "project_facts": "settings",
}
METRICS: Final[Mapping[str, str]] = {
    "locomo": "R@10",
    "beam100k": "R@10",
    "longmemeval_mini": "R@10",
    "life": "R@10",
    "months": "R@10",
    "2wikimultihopqa": "R@5",
    "hotpotqa": "R@5",
    "hotpotqa_train100": "R@5",
    "musique_train100": "R@5",
    "code_change": "R@10",
    "code_exact": "Hit@1",
    "cosqa": "MRR@10",
    "project_facts": "Hit@1",
}
WHOLE_SET: Final = 100
"""Questions from which on a set has its full weight."""


def kind_of(name: str) -> str:
    """The kind of text of a set."""
    return KINDS.get(name, name)


def metric_of(name: str) -> str:
    """The main metric of a set."""
    return METRICS.get(name, DEFAULT_METRIC)


def set_weights(questions: Mapping[str, int], *, without: Sequence[str] = ()) -> dict[str, float]:
    """Weight by set, from its number of questions; every kind sums to 1. `without`: kinds to drop."""
    full = {
        name: min(1.0, count / WHOLE_SET)
        for name, count in questions.items()
        if kind_of(name) not in without and count
    }
    wholes: dict[str, float] = {}
    for name, weight in full.items():
        wholes[kind_of(name)] = wholes.get(kind_of(name), 0.0) + weight
    return {name: weight / wholes[kind_of(name)] for name, weight in full.items()}
