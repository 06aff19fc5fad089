"""The area under the ROC curve."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Numbers = Sequence[float] | NDArray[np.float64]


def area_under_roc(positive: Numbers, negative: Numbers) -> float:
    """Mann-Whitney's U over all pairs, ties one half (Hanley and McNeil 1982); neither is empty."""
    from scipy import stats  # noqa: PLC0415  its import takes longer than that of the rest of the lab

    statistic = stats.mannwhitneyu(positive, negative, method="asymptotic").statistic
    return float(statistic) / (len(positive) * len(negative))
