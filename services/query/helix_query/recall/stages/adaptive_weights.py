"""How much the dense channel counts for this query: a logistic model over what the two lists look like.

No fixed share is best: words decide on chat and settings, meaning on questions to code (findings). The
features cost microseconds, the coefficients stand in the ranking profile. Stage 4 takes the share.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helix_shared.artifacts.hits import Hits

LOOKED_AT: Final = 10
"""The first so many of each list say how it falls off."""
HALF_BM25: Final = 10.0
"""BM25 score that normalises to one half: s / (s + this)."""
LOG_TOKENS: Final = 6.0
"""Brings the logarithm of a length in tokens to about 1."""


def dense_share(seen: Mapping[str, float], *, intercept: float, coefficients: Mapping[str, float]) -> float:
    """Share of the dense list in the fusion, between 0 and 1: sigmoid(intercept + sum of products)."""
    logit = intercept + sum(coefficients[name] * seen[name] for name in coefficients)
    return 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, logit))))


def features(
    lexical: Hits,
    ordinals: NDArray[np.int64],
    cosines: NDArray[np.float32],
    *,
    is_code: NDArray[np.bool_],
    tokens: NDArray[np.int32],
    words: int,
    has_exact_tokens: bool,
    is_exact_lookup: bool,
) -> dict[str, float]:
    """What is known before the two lists are blended; none of it says which memory is relevant.

    `ordinals` are the candidates of both, ascending; `cosines` their true ones, `is_code` and `tokens`
    (lengths) what they are. `words` counts the analysed words of the query.
    """
    nearest = np.argsort(-cosines, kind="stable")[:LOOKED_AT]
    wording = lexical.ordinals[:LOOKED_AT]
    # both have no ordinal twice, so those of both are told one by one
    of_both = (wording[:, None] == ordinals[nearest]).any(axis=1)
    leading = np.concatenate([nearest, np.searchsorted(ordinals, wording[~of_both])])
    falling = np.sort(cosines)[::-1][:LOOKED_AT]
    best = float(lexical.scores[0]) if len(lexical) else 0.0
    last = float(lexical.scores[:LOOKED_AT][-1]) if len(lexical) else 0.0
    return {
        "words": math.log1p(words),
        "exact_tokens": float(has_exact_tokens),
        "exact_lookup": float(is_exact_lookup),
        "lexical_best": best / (best + HALF_BM25),
        "lexical_drop": (best - last) / best if best else 0.0,
        "cosine_best": float(falling[0]) if len(falling) else 0.0,
        "cosine_drop": float(falling[0] - falling[-1]) if len(falling) else 0.0,
        "agreement": int(of_both.sum()) / LOOKED_AT,
        "code": float(is_code[leading].mean()) if len(leading) else 0.0,
        "length": math.log1p(float(tokens[nearest].mean())) / LOG_TOKENS if len(nearest) else 0.0,
    }
