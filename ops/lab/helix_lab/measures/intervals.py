"""How certain a mean over questions is: bootstrap intervals, and paired tests between two runs.

Works on the scores of `metrics` and keeps their scale. Every metric of a run is resampled with the same draws
from a fixed seed, so the same scores give the same interval. Written as matrix products, because scipy.stats
draws and gathers for every metric again; the tests compare both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from helix_shared.errors import InvalidInputError

CONFIDENCE: Final = 0.95
RESAMPLES: Final = 2_000
FLIPS: Final = 10_000
SEED: Final = 20_260_101
BATCH_NUMBERS: Final = 4_000_000
"""Numbers drawn at once; bounds memory to about 100 MB for any number of questions."""
ROUNDING: Final = 1e-9
"""Sums closer than this are equal, so that the order of adding does not decide a test."""

Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Difference:
    """Difference between two runs in one metric; positive means more."""

    difference: float
    low: float
    high: float
    p: float
    """Two-sided: how often chance alone gives a difference at least as large."""


def intervals(
    scores: Mapping[str, Mapping[str, float]], *, resamples: int = RESAMPLES, seed: int = SEED
) -> dict[str, tuple[float, float]]:
    """The 95 % interval of each metric's mean over the questions that have it.

    Percentile bootstrap over questions (Efron and Tibshirani, "An Introduction to the Bootstrap", 1993,
    section 13.3): as many questions as there are, drawn with replacement, `resamples` times.
    """
    found: dict[str, tuple[float, float]] = {}
    for names, table in _tables(scores):
        lows, highs = _bootstrap(table, resamples=resamples, seed=seed)
        found |= {name: (float(lows[n]), float(highs[n])) for n, name in enumerate(names)}
    return found


def differences(
    scores: Mapping[str, Mapping[str, float]],
    baseline: Mapping[str, Mapping[str, float]],
    *,
    resamples: int = RESAMPLES,
    flips: int = FLIPS,
    seed: int = SEED,
) -> dict[str, Difference]:
    """Each metric's mean of `scores` minus `baseline`, with a paired interval and a paired test.

    The interval resamples the differences of the questions, the test flips their signs (Fisher's
    randomisation test; Smucker, Allan and Carterette, CIKM 2007, on why it suits rankings).

    Raises:
        InvalidInputError: the two are not about the same questions and metrics.
    """
    found: dict[str, Difference] = {}
    for names, table in _tables(_paired(scores, baseline)):
        lows, highs = _bootstrap(table, resamples=resamples, seed=seed)
        chances = _sign_flips(table, flips=flips, seed=seed)
        columns = zip(names, table.mean(axis=0), lows, highs, chances, strict=True)
        found |= {name: Difference(*map(float, numbers)) for name, *numbers in columns}
    return found


def _paired(
    scores: Mapping[str, Mapping[str, float]], baseline: Mapping[str, Mapping[str, float]]
) -> dict[str, dict[str, float]]:
    if scores.keys() != baseline.keys():
        first = min(scores.keys() ^ baseline.keys())
        raise InvalidInputError("baseline", f"only one of the two runs has question {first!r}")
    for question, row in scores.items():
        if row.keys() != baseline[question].keys():
            first = min(row.keys() ^ baseline[question].keys())
            raise InvalidInputError("baseline", f"only one of the two runs has {first} of {question!r}")
    return {
        question: {name: value - baseline[question][name] for name, value in row.items()}
        for question, row in scores.items()
    }


def _tables(scores: Mapping[str, Mapping[str, float]]) -> Iterator[tuple[list[str], Matrix]]:
    """Metrics that the same questions have, and their values as (questions, metrics)."""
    names = dict.fromkeys(name for row in scores.values() for name in row)
    groups: dict[tuple[str, ...], list[str]] = {}
    for name in names:
        having = tuple(question for question, row in scores.items() if name in row)
        groups.setdefault(having, []).append(name)
    for questions, columns in groups.items():
        rows = [[scores[question][name] for name in columns] for question in questions]
        yield columns, np.array(rows, dtype=np.float64)


def _bootstrap(table: Matrix, *, resamples: int, seed: int) -> tuple[Matrix, Matrix]:
    """Lower and upper end for every column of (questions, metrics)."""
    return ends_of(resampled_means(table, resamples, np.random.default_rng(seed)))


def resampled_means(table: Matrix, resamples: int, drawn: np.random.Generator) -> Matrix:
    """Means of every column of (questions, metrics), each of as many questions drawn with replacement."""
    questions = len(table)
    means = []
    for batch in _batches(resamples, questions):
        picks = drawn.integers(0, questions, (batch, questions))
        # row r counts how often resample r holds each question: a resampled mean is a matrix product
        cells = (picks + np.arange(batch)[:, None] * questions).ravel()
        counts = np.bincount(cells, minlength=batch * questions).reshape(batch, questions)
        means.append(counts.astype(np.float64) @ table / questions)
    return np.concatenate(means)


def ends_of(resampled: Matrix) -> tuple[Matrix, Matrix]:
    """Lower and upper end of the interval of every column of (resamples, metrics)."""
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(resampled, (tail, 1 - tail), axis=0)
    return low, high


def _sign_flips(table: Matrix, *, flips: int, seed: int) -> Matrix:
    """Two-sided p of a mean of 0 for every column; no difference at all gives 1.

    All sign patterns where they are at most `flips`: p is exact. Otherwise `flips` random ones and
    p = (as extreme + 1) / (flips + 1), never 0 (Phipson and Smyth, SAGMB 2010).
    """
    total = table.sum(axis=0)
    least = np.abs(total) - ROUNDING
    extreme = np.zeros(table.shape[1])
    patterns = 2 ** len(table)
    for kept in _all_signs(len(table)) if patterns <= flips else _random_signs(len(table), flips, seed):
        # kept is 1 where the sign stays, 0 where it flips
        extreme += (np.abs(2 * (kept @ table) - total) >= least).sum(axis=0)
    return extreme / patterns if patterns <= flips else (extreme + 1) / (flips + 1)


def _all_signs(questions: int) -> Iterator[Matrix]:
    patterns = np.arange(2**questions)[:, None] >> np.arange(questions)
    yield (patterns & 1).astype(np.float64)


def _random_signs(questions: int, flips: int, seed: int) -> Iterator[Matrix]:
    drawn = np.random.default_rng(seed)
    for batch in _batches(flips, questions):
        yield drawn.integers(0, 2, (batch, questions), dtype=np.int8).astype(np.float64)


def _batches(rows: int, questions: int) -> Iterator[int]:
    size = max(1, BATCH_NUMBERS // questions)
    for start in range(0, rows, size):
        yield min(size, rows - start)
