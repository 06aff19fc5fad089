"""Stage 6b, the place of a reranker: reads the best few again and sets their order anew.

Rerankers (late interaction, a cross-encoder, a learned one) belong to the optional tiers and are
entries of `METHODS`; `none`, the default, leaves the order as it is. `profile` refuses a method that is
not here, so that no profile believes itself reranked. Stage 7 diversifies.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

import numpy as np

from helix_query.recall.candidates import Ranked

if TYPE_CHECKING:
    from numpy.typing import NDArray

Reranker = Callable[["Ranked"], "NDArray[np.float64]"]
"""New scores of the candidates given, one each."""

NONE: Final = "none"
MOST_CANDIDATES: Final = 30
"""A cross-encoder over a hundred texts takes minutes on a processor; no profile can ask for that."""
METHODS: Final[Mapping[str, Reranker]] = {NONE: lambda ranked: ranked.scores}


def rerank(ranked: Ranked, *, method: str = NONE, candidates: int = 20) -> Ranked:
    """`ranked` with its first `candidates` in the order of the reranker `method`, the rest behind them."""
    best = ranked.first(candidates)
    scores = METHODS[method](best)
    order = np.argsort(-scores, kind="stable")
    return Ranked(
        np.concatenate([best.positions[order], ranked.positions[candidates:]]),
        np.concatenate([scores[order], ranked.scores[candidates:]]),
    )
