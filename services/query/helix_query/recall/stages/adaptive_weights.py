"""Stage 4, channel weights for one query: a logistic model over features of the dense and the lexical list.

No fixed share is best: words decide where the texts repeat the query's words, meaning decides where they do
not. The features cost microseconds; `helix-lab share` fits the coefficients of the ranking profile.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from helix_memory.vocabulary.memory_types import MEMORY_TYPES
from helix_query.profile.fitted import serves
from helix_query.profile.intent import Intent
from helix_query.profile.sections.section import DENSE, LEXICAL
from helix_shared.artifacts.lexicon.reader import exact_words_of, words_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helix_query.profile.sections.fusion import Feature
    from helix_query.recall.candidates import Retrieved, Route
    from helix_query.recall.context import RecallContext
    from helix_shared.artifacts.hits import Hits

FEATURE_HITS: Final = 10
"""Hits of each list that show how it falls off."""
LEAST_COVERAGE: Final = 0.05
"""Coverage counts as at least this, and as at most 1 - this, before its log odds are taken."""
LOG_TOKENS: Final = 6.0
"""Brings the logarithm of a length in tokens to about 1."""


def adaptive_weights(
    context: RecallContext,
    retrieved: Retrieved,
    route: Route,
    ordinals: NDArray[np.int64],
    cosines: NDArray[np.float32],
) -> Mapping[str, float]:
    """Weight of each channel; an adaptive profile redistributes the sum of the dense and lexical weights.

    With another encoder than the one it was fitted for, it does not. `ordinals` are all candidates,
    ascending; `cosines` their exact ones.
    """
    constants = context.profile.fuse
    weights: dict[str, float] = dict(constants.weights_for(route.intents).items())
    fitted = constants.adaptive
    if fitted is None or not serves(fitted.encoder, context.snapshot.encoder.card):
        return weights
    found = share_features(context, retrieved, route, ordinals, cosines)
    if found is None:
        return weights
    share = dense_share(found, intercept=fitted.intercept, coefficients=fitted.coefficients)
    whole = weights[DENSE] + weights[LEXICAL]
    return weights | {DENSE: share * whole, LEXICAL: (1.0 - share) * whole}


def share_features(
    context: RecallContext,
    retrieved: Retrieved,
    route: Route,
    ordinals: NDArray[np.int64],
    cosines: NDArray[np.float32],
) -> dict[str, float] | None:
    """`features` of one query; None where dense or lexical was not asked or did not answer.

    `ordinals` and `cosines` as in `adaptive_weights`.
    """
    lexical, signals = retrieved.hits_of(LEXICAL), context.generation.signals
    if lexical is None or retrieved.hits_of(DENSE) is None:
        return None
    asked = context.query_words.value
    held = asked.held(lexical.ordinals[:1])
    return features(
        lexical,
        ordinals,
        cosines,
        coverage=float(asked.coverage(held).sum()),
        rarest_held=float(asked.rarest(held).sum()),
        is_code=signals.type_code[ordinals] == MEMORY_TYPES.index("code"),
        tokens=signals.token_count[ordinals],
        words=len(words_of(context.query.text)),
        has_exact_tokens=bool(exact_words_of(context.query.text)),
        is_exact_lookup=Intent.EXACT_LOOKUP in route.intents,
        sequences=context.sequences_of(ordinals),
    )


def dense_share(
    values: Mapping[str, float], *, intercept: float, coefficients: Mapping[Feature, float]
) -> float:
    """Share of the dense list in the fusion, between 0 and 1: sigmoid(intercept + sum of products)."""
    logit = intercept + sum(coefficients[name] * values[name] for name in coefficients)
    return 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, logit))))


def features(
    lexical: Hits,
    ordinals: NDArray[np.int64],
    cosines: NDArray[np.float32],
    *,
    coverage: float,
    rarest_held: float,
    is_code: NDArray[np.bool_],
    tokens: NDArray[np.int32],
    words: int,
    has_exact_tokens: bool,
    is_exact_lookup: bool,
    sequences: NDArray[np.integer[Any]],
) -> dict[str, float]:
    """The features of the model, by name; none of them says which memory is relevant.

    `ordinals` are the candidates, ascending; `cosines` their exact ones, `tokens` their lengths, `sequences`
    their positions in the log. `words`
    counts the analysed words of the query. `coverage`, 0 to 1, is the share of them that the best lexical
    hit holds, by rarity; `rarest_held` the rarity of the rarest one it holds over that of the query. The
    feature `coverage` is its log odds: with the coefficient -1 alone the share of dense is 1 - coverage.
    The height of a BM25 score is no feature: it depends on how many memories a tenant has.
    """
    nearest = np.lexsort((sequences, -cosines))[:FEATURE_HITS]
    wording = lexical.ordinals[:FEATURE_HITS]
    # Neither list has an ordinal twice.
    of_both = (wording[:, None] == ordinals[nearest]).any(axis=1)
    leading = np.concatenate([nearest, np.searchsorted(ordinals, wording[~of_both])])
    falling = np.sort(cosines)[::-1][:FEATURE_HITS]
    best = float(lexical.scores[0]) if len(lexical) else 0.0
    last = float(lexical.scores[:FEATURE_HITS][-1]) if len(lexical) else 0.0
    return {
        "words": math.log1p(words),
        "exact_tokens": float(has_exact_tokens),
        "exact_lookup": float(is_exact_lookup),
        "coverage": log_odds(min(max(coverage, LEAST_COVERAGE), 1.0 - LEAST_COVERAGE)),
        "rarest_held": rarest_held,
        "lexical_drop": (best - last) / best if best else 0.0,
        "cosine_drop": float(falling[0] - falling[-1]) if len(falling) else 0.0,
        "agreement": int(of_both.sum()) / FEATURE_HITS,
        "code": float(is_code[leading].mean()) if len(leading) else 0.0,
        "length": math.log1p(float(tokens[nearest].mean())) / LOG_TOKENS if len(nearest) else 0.0,
    }


def log_odds(share: float) -> float:
    """ln(p / (1 - p)) of a share between 0 and 1, both excluded."""
    return math.log(share / (1.0 - share))
