"""Stage 6, intent `current_value`: of the memories that state the value, the latest goes first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

TOP_GAIN: Final = 2.0
"""Times the best score: a gain that lifts a memory over all others."""


def latest_statement(
    scores: NDArray[np.float64],
    coverage: NDArray[np.float64],
    occurred_at: NDArray[np.int64],
    *,
    min_coverage: float,
    min_text_coverage: float,
    min_score: float,
    fewest: int = 1,
) -> NDArray[np.float64]:
    """The gain of each memory that states the value: enough to go first, the latest on top; else 0.

    A memory states it if its text covers at least `min_coverage` of the best coverage and at least
    `min_text_coverage` of the query's words, and its score is at least the share `min_score` of the best
    score, so that small talk which repeats the words gains nothing. The gain is its place in time, 1 and up,
    times `TOP_GAIN` times the best score. Equal times keep the order of their scores.
    """
    gains = np.zeros(len(scores))
    most = float(coverage.max(initial=0.0))
    best = float(scores.max(initial=0.0))
    states = (coverage >= min_coverage * most) & (coverage >= min_text_coverage) & (coverage > 0)
    stating = np.flatnonzero(states & (scores >= min_score * best))
    moments, places = np.unique(occurred_at[stating], return_inverse=True)
    if len(moments) >= fewest:
        gains[stating] = (places + 1) * TOP_GAIN * best
    return gains
