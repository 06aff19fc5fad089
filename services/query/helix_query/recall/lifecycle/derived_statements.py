"""Stages 6 and 7: a statement that was derived from a turn replaces the turn in the results.

Both have the same event, so the derived statement cites the turn. Memories of one turn have one source code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helix_query.recall.candidate_signals import CandidateSignals


def replaced_turns(
    source_code: NDArray[np.int64], is_derived: NDArray[np.bool_], scores: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows of turns with a derived statement among the rows, and the row of the best one of each turn."""
    verbatim = np.flatnonzero(~is_derived)
    # best score last, so that of equal codes the last one is taken
    derived = np.flatnonzero(is_derived)
    derived = derived[np.lexsort((-derived, scores[derived], source_code[derived]))]
    codes = source_code[derived]
    last = np.searchsorted(codes, source_code[verbatim], side="right") - 1
    found = last >= 0
    found[found] = codes[last[found]] == source_code[verbatim[found]]
    return verbatim[found], derived[last[found]]


def derived_gains(scores: NDArray[np.float64], raw: CandidateSignals) -> NDArray[np.float64]:
    """Gains that raise the best derived statement of each turn to the score of the turn; 0 for all others."""
    gains = np.zeros(len(scores))
    if raw.is_derived.any():
        turns, derived = replaced_turns(raw.source_code, raw.is_derived, scores)
        gains[derived] = np.maximum(scores[turns] - scores[derived], 0.0)
    return gains
