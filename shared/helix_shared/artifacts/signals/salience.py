"""The effect of usage on salience: small for being served, larger for feedback, both bounded.

The move follows from counts alone, so it can be computed again at any time, and the salience of ingest is
kept. Being served is not being helpful: what is served often is served more often. Its part is small and
saturates, so that it never lifts an irrelevant memory above a relevant one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

SERVED_MOST: Final = 0.05
"""Largest move by accesses."""
SERVED_HALF: Final = 10.0
"""Accesses that give half of it."""
FEEDBACK_MOST: Final = 0.25
"""Bound of the move by feedback, in both directions."""
FEEDBACK_PRIOR: Final = 2.0
"""Feedback that is assumed to have said neither: one opinion alone moves a third of the bound."""


def salience_moves(
    accesses: NDArray[Any], helpful: NDArray[Any], unhelpful: NDArray[Any]
) -> NDArray[np.float64]:
    """Changes of the salience [n] by the counts [n]: -0.25 to 0.3.

    .05 x accesses / (accesses + 10) + .25 x (helpful - unhelpful) / (helpful + unhelpful + 2).
    """
    served, good, bad = (values.astype(np.float64) for values in (accesses, helpful, unhelpful))
    moves: NDArray[np.float64] = SERVED_MOST * served / (served + SERVED_HALF)
    moves += FEEDBACK_MOST * (good - bad) / (good + bad + FEEDBACK_PRIOR)
    return moves
