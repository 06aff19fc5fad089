"""The associative channel: memories near the pattern that the query completes to.

One update of a modern Hopfield network (Ramsauer et al. 2020, "Hopfield Networks is All You Need",
equation 3): xi' = X^T softmax(beta X q). The stored patterns X are the vectors of the dense channel's
best, since all memories would be corpus-sized work. A second vector search with the new state can find a
memory that the words of the query are far from (ops/decisions/0012).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from helix_query.recall.channels.vector_search import nearest_visible
from helix_shared.artifacts.hits import Hits

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helix_query.recall.channels.plan import SearchPlan
    from helix_query.recall.context import RecallContext


class AssociativeChannel:
    """Finds memories by what the nearest memories have in common; waits for the dense channel's hits."""

    name: Final = "associative"

    def search(self, context: RecallContext, plan: SearchPlan) -> Hits:
        """The visible memories nearest to the new state; the score is the cosine to it.

        Nothing where there is no stored pattern.
        """
        constants, signals = context.profile.retrieve, context.generation.signals
        patterns = signals.vectors(plan.nearest.value.ordinals[: constants.associative_patterns])
        state = completed_state(plan.vector(), patterns, beta=constants.associative_beta)
        if not state.any():
            return Hits.none()
        return nearest_visible(
            state,
            context.visibility,
            vectors=context.generation.vectors,
            limit=plan.limit or context.limit_of(self.name),
        )


def completed_state(
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
