"""Stage 6 for questions of what holds now: of memories that state it the latest goes first.

`rank` calls this for the intent `current_value`, with the score as it is so far.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

STEP: Final = 2.0
"""Best scores that lift a memory over all others: more than any two scores are apart."""


def latest_statement(
    scores: NDArray[np.float64],
    coverage: NDArray[np.float64],
    occurred_at: NDArray[np.int64],
    *,
    cover: float,
    floor: float,
    relevant: float,
) -> NDArray[np.float64]:
    """What those gain that state the value asked for: enough to stand first, the latest of them on top.

    They are the memories whose text holds at least `cover` of the most that any holds, and at least `floor`,
    of the words of the question, and that are about as `relevant`: at least that share of the best score, so
    that chatter which repeats the words gains nothing. Each gains its place in time, 1 and up, times twice
    the best score, so that the order of time is never undone; equal times keep the order of their scores.
    """
    gains = np.zeros(len(scores))
    most = float(coverage.max(initial=0.0))
    best = float(scores.max(initial=0.0))
    states = (coverage >= cover * most) & (coverage >= floor) & (coverage > 0)
    stating = np.flatnonzero(states & (scores >= relevant * best))
    if len(stating):
        _, places = np.unique(occurred_at[stating], return_inverse=True)
        gains[stating] = (places + 1) * STEP * best
    return gains
