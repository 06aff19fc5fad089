"""The associative channel: what lies near the pattern that the query completes to.

One update of a modern Hopfield network (Ramsauer et al. 2020, "Hopfield Networks is All You Need",
equation 3): xi' = X^T softmax(beta X q). The stored patterns X are the vectors of the dense channel's
best, since all memories would be corpus-sized work; a second dense search with the new state, not a
new order of the same candidates, is what can find a memory that the question's own words lie far
from (ops/decisions/0012). Waits for the dense channel's hits, on its own lane and deadline.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from helix_query.recall.channels.dense import dense
from helix_shared.artifacts.hits import Hits

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helix_query.recall.visibility import Visibility
    from helix_shared.artifacts.vectors.reader import VectorReader


def associative(
    vector: NDArray[np.float32],
    view: Visibility,
    *,
    nearest: Callable[[], Hits],
    vectors: VectorReader,
    patterns: int,
    beta: float,
    limit: int,
) -> Hits:
    """Up to `limit` memories in sight, best first; the score is the cosine to the new state.

    The best `patterns` of `nearest` are the stored patterns; without any there are no hits.
    """
    state = completed(vector, view.signals.vectors(nearest().ordinals[:patterns]), beta=beta)
    if not state.any():
        return Hits.none()
    return dense(state, view, vectors=vectors, limit=limit)


def completed(
    query: NDArray[np.float32], patterns: NDArray[np.float32], *, beta: float
) -> NDArray[np.float32]:
    """The unit state after one update: patterns weighted by softmax(beta x their product with `query`).

    Zero where there are no patterns, or where they cancel out.
    """
    energies = beta * (patterns.astype(np.float64) @ query.astype(np.float64))
    attention = np.exp(energies - energies.max(initial=-np.inf))
    state = attention @ patterns.astype(np.float64) / max(float(attention.sum()), 1.0)
    norm = float(np.linalg.norm(state))
    unit: NDArray[np.float32] = (state / norm if norm > 0 else state).astype(np.float32)
    return unit
