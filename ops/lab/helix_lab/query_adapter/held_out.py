"""What a fit to the feedback of a tenant brings for questions that it has not seen (ops/decisions/0064).

Nested: for each of `FOLDS` parts the size of the steps is chosen on questions of the other parts, the adapter
is fitted to those, and whole recalls of the part are compared with those by the adapter of the package.
Questions of one text stay together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np

from helix_lab.measures.intervals import Difference, differences
from helix_lab.measures.metrics import DEPTH, Scores, mean, ranking_scores
from helix_lab.query_adapter.fit import BATCH_QUESTIONS, SEED
from helix_lab.query_adapter.observations import Observation
from helix_lab.query_adapter.tenant import TenantCorpus, TenantQuestion
from helix_shared.encoders.query_adapter import QueryAdapter

FOLDS: Final = 4
SIZES: Final = (2e-4, 5e-4, 1.2e-3)
"""First steps of a fit, tried from small to large: the smaller, the nearer to the adapter of the package."""
WORTH: Final = 0.01
"""Mean reciprocal rank that a larger step must bring to be chosen."""
JUDGED: Final = "MRR@10"
"""The metric that decides."""
SHOWN: Final = ("Hit@1", "R@10", JUDGED)


class Fit(Protocol):
    """Makes the adapter of questions with a first step of this size."""

    def __call__(self, seen: Sequence[Observation], size: float, *, with_states: bool = True) -> QueryAdapter:
        """As `fit.fit`."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Whole recalls of the same questions with the adapter of the package and with another one."""

    questions: int
    before: Mapping[str, float]
    after: Mapping[str, float]
    change: Mapping[str, Difference]


def held_out(corpus: TenantCorpus, questions: Sequence[TenantQuestion], fit: Fit) -> Comparison:
    """Each question is asked with an adapter that was fitted without it; there are at least `FOLDS` texts."""
    parts = _parts(questions)
    rankings: dict[int, tuple[int, ...]] = {}
    for part in range(FOLDS):
        used = [one for one, its in zip(questions, parts, strict=True) if its != part]
        adapter = fit([one.seen for one in used], chosen_size(used, fit))
        for place in np.flatnonzero(parts == part).tolist():
            rankings[place] = corpus.ranking(questions[place], adapter)
    return _compared(corpus, questions, [rankings[place] for place in range(len(questions))])


def compared(corpus: TenantCorpus, questions: Sequence[TenantQuestion], adapter: QueryAdapter) -> Comparison:
    """Questions that the adapter was not fitted to."""
    return _compared(corpus, questions, [corpus.ranking(one, adapter) for one in questions])


def chosen_size(questions: Sequence[TenantQuestion], fit: Fit) -> float:
    """The size that is best by cosine for one part of the questions, fitted to the others."""
    parts = _parts(questions)
    used = [one.seen for one, its in zip(questions, parts, strict=True) if its]
    judging = [one.seen for one, its in zip(questions, parts, strict=True) if not its]
    best, found = SIZES[0], -1.0
    for size in SIZES if len(used) >= BATCH_QUESTIONS else ():
        adapter = fit(used, size, with_states=False)
        reached = float(np.mean([_reciprocal_rank(one, adapter) for one in judging]))
        if reached < found + WORTH:
            break
        best, found = size, reached
    return best


def _compared(
    corpus: TenantCorpus, questions: Sequence[TenantQuestion], rankings: Sequence[tuple[int, ...]]
) -> Comparison:
    before = _scores(questions, [corpus.ranking(one, corpus.package) for one in questions])
    after = _scores(questions, rankings)
    return Comparison(len(questions), mean(before), mean(after), differences(after, before))


def _scores(questions: Sequence[TenantQuestion], rankings: Sequence[tuple[int, ...]]) -> Scores:
    """`SHOWN` of every question."""
    names = [f"{place:05d}" for place in range(len(questions))]
    relevant = {
        name: {str(source): 1.0 for source in one.relevant}
        for name, one in zip(names, questions, strict=True)
    }
    found = {name: [str(source) for source in one[:DEPTH]] for name, one in zip(names, rankings, strict=True)}
    scores = ranking_scores(found, relevant)
    return {name: {metric: row[metric] for metric in SHOWN} for name, row in scores.items()}


def _parts(questions: Sequence[TenantQuestion]) -> np.ndarray:
    """The part of each question; equal texts are in one part."""
    texts = list(dict.fromkeys(one.asked.text.casefold() for one in questions))
    order = np.random.default_rng(SEED).permutation(len(texts)).tolist()
    part_of = {text: order[place] % FOLDS for place, text in enumerate(texts)}
    return np.array([part_of[one.asked.text.casefold()] for one in questions])


def _reciprocal_rank(one: Observation, adapter: QueryAdapter) -> float:
    cosines = one.memories @ adapter.vector(one.vector)
    return 1.0 / (1.0 + int((cosines > cosines[one.is_relevant].max()).sum()))
