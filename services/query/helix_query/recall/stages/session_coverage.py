"""Stage 7 for questions about many sessions: the best of each first, then what adds most.

`diversify` calls this where the ranking profile wants the rest by maximal marginal relevance; the
likeness of two texts is the Jaccard coefficient their MinHash signatures estimate (Broder 1997).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def session_leads(
    scores: NDArray[np.float64], sessions: NDArray[np.int64], *, floor: float
) -> NDArray[np.int64]:
    """Rows (given best first) that are the best of their session and reach `floor` x the best score.

    Session 0 is none: each of its rows stands for itself.
    """
    if not len(scores):
        return np.empty(0, np.int64)
    alone = -1 - np.arange(len(scores))
    _, firsts = np.unique(np.where(sessions == 0, alone, sessions), return_index=True)
    leads: NDArray[np.int64] = np.sort(firsts[scores[firsts] >= floor * scores[0]]).astype(np.int64)
    return leads


def cover_then_mmr(
    relevance: NDArray[np.float64],
    minhashes: NDArray[np.uint32],
    leads: NDArray[np.int64],
    *,
    weight: float,
    count: int,
) -> NDArray[np.int64]:
    """The rows `leads` in their order, then the others by maximal marginal relevance.

    Chooses argmax of weight x relevance - (1 - weight) x likeness. Likeness is the
    greatest Jaccard to one chosen before, the leads included; of equals the first.
    """
    chosen = leads[:count].tolist()
    closest = np.zeros(len(relevance))
    for row in chosen:
        closest = np.maximum(closest, jaccard(minhashes, minhashes[row]))
    left = np.ones(len(relevance), bool)
    left[chosen] = False
    while len(chosen) < count and left.any():
        marginal = np.where(left, weight * relevance - (1.0 - weight) * closest, -np.inf)
        best = int(np.argmax(marginal))
        chosen.append(best)
        left[best] = False
        closest = np.maximum(closest, jaccard(minhashes, minhashes[best]))
    return np.array(chosen, np.int64)


def jaccard(minhashes: NDArray[np.uint32], one: NDArray[np.uint32]) -> NDArray[np.float64]:
    """Estimated Jaccard coefficient of every row with `one`: the share of equal permutations."""
    return (minhashes == one).mean(axis=1) if minhashes.size else np.zeros(len(minhashes))
