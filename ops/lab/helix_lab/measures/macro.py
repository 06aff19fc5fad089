"""Means over several sets, each set with the same weight, with an interval.

Each set is resampled on its own and the means are averaged (a stratified bootstrap), so a large set cannot
hide a small one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from helix_lab.measures.intervals import RESAMPLES, SEED, Matrix, ends_of, resampled_means


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
        resampled += resampled_means(table, resamples, drawn) / len(tables)
    mean: Matrix = np.mean([table.mean(axis=0) for table in tables], axis=0)
    return mean, *ends_of(resampled)
