"""Means over several sets, each set with the same weight, with an interval.

Each set is resampled on its own and the means are averaged (a stratified bootstrap), so a large set cannot
hide a small one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from helix_lab.measures.intervals import BATCH_NUMBERS, CONFIDENCE, RESAMPLES, SEED, Matrix


def macro_intervals(
    tables: Sequence[Matrix], *, resamples: int = RESAMPLES, seed: int = SEED
) -> tuple[Matrix, Matrix, Matrix]:
    """Macro mean, low and high of every column; one table of (questions, columns) a set, none empty.

    Percentile bootstrap: in each of `resamples` rounds as many questions as a set has are drawn from it
    with replacement (Efron and Tibshirani, "An Introduction to the Bootstrap", 1993, section 8.3).
    """
    drawn = np.random.default_rng(seed)
    resampled = np.zeros((resamples, tables[0].shape[1]))
    for table in tables:
        resampled += _resampled_means(table, resamples, drawn) / len(tables)
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(resampled, (tail, 1 - tail), axis=0)
    mean: Matrix = np.mean([table.mean(axis=0) for table in tables], axis=0)
    return mean, low, high


def _resampled_means(table: Matrix, resamples: int, drawn: np.random.Generator) -> Matrix:
    questions = len(table)
    size = max(1, BATCH_NUMBERS // questions)
    batches = []
    for start in range(0, resamples, size):
        batch = min(size, resamples - start)
        picks = drawn.integers(0, questions, (batch, questions))
        # row r counts how often resample r holds each question: one product serves every column
        cells = (picks + np.arange(batch)[:, None] * questions).ravel()
        counts = np.bincount(cells, minlength=batch * questions).reshape(batch, questions)
        batches.append(counts.astype(np.float64) @ table / questions)
    means: Matrix = np.concatenate(batches)
    return means
