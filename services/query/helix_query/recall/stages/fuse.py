"""Stage 4: fuses ranked lists into one list of candidates with a fused score and exact cosines.

`fuse_rankings` holds both methods, `rrf` and `minmax`. Approximate scores of the vector index never enter:
cosines come from the stored vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from helix_memory.arithmetic import normalised, reciprocal
from helix_query.profile.sections.section import DENSE, LEXICAL
from helix_query.recall.candidates import Candidates, Cosines, FusionInput, Ranking, Retrieved, bit_of
from helix_query.recall.stages.adaptive_weights import adaptive_weights
from helix_shared.artifacts.distinct import distinct
from helix_shared.artifacts.hits import Hits

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helix_query.recall.candidates import Route
    from helix_query.recall.context import RecallContext

Weigh = Callable[["NDArray[np.int64]", "NDArray[np.float32]"], Mapping[str, float]]
"""Weights of the channels, from the ordinals of all candidates, ascending, and their cosines."""


def fuse(
    context: RecallContext, retrieved: Retrieved, vector: NDArray[np.float32], route: Route
) -> Candidates:
    """Stage 4."""
    constants = context.profile.fuse
    return fuse_rankings(
        retrieved,
        cosines=partial(context.generation.signals.cosines, vector),
        method=constants.method,
        weights=partial(adaptive_weights, context, retrieved, route),
        k=constants.k,
        rank_bonuses=constants.rank_bonuses,
        lexical_limit=context.limit_of(LEXICAL),
        rephrased_weight=constants.rephrased_weight,
        sequences_of=context.sequences_of,
    )


def fuse_rankings(
    retrieved: Retrieved,
    *,
    cosines: Cosines,
    method: Literal["rrf", "minmax"],
    weights: Mapping[str, float] | Weigh,
    k: int = 60,
    rank_bonuses: Sequence[float] = (),
    lexical_limit: int = 100,
    rephrased_weight: float = 1.0,
    sequences_of: Callable[[NDArray[np.int64]], NDArray[np.integer[Any]]] = lambda ordinals: ordinals,
) -> Candidates:
    """The candidates of all rankings, best first, then those that only evidence was found for.

    Equal sums go by `sequences_of` their ordinals, the positions in the log.

    `rrf`: sum of weight / (k + rank), rank from 1 (Cormack, Clarke, Buettcher 2009); `rank_bonuses[i]` is
    added once for every list that has the candidate at rank i + 1.

    `minmax`: sum of weight x (score - least) / (most - least), the weights scaled to sum 1. A list whose
    scores are all equal gives 1 to all of its own; a candidate that is not in a list gets 0 from it. The
    dense list is completed by the exact cosines of the other candidates. A lexical list shorter than
    `lexical_limit` holds every match; the next memory has BM25 score 0, so its scale starts there. Otherwise,
    of two like matches the second would be worth nothing.
    """
    found = [ranking.hits.ordinals for ranking in retrieved.rankings]
    found += [hits.ordinals for hits in retrieved.caller_hits]
    union = distinct(*found)
    exact = cosines(union).astype(np.float32, copy=False)
    if callable(weights):
        weights = weights(union, exact)
    if method == "rrf":
        inputs = [
            _reciprocal(ranking, _weight(ranking, weights, rephrased_weight), k=k, bonuses=rank_bonuses)
            for ranking in retrieved.rankings
        ]
    else:
        rankings = _with_exact_dense(retrieved, union, exact)
        shares = [_weight(ranking, weights, rephrased_weight) for ranking in rankings]
        total = float(sum(shares)) or 1.0
        inputs = [
            _scaled(ranking, share / total, lexical_limit=lexical_limit)
            for ranking, share in zip(rankings, shares, strict=True)
        ]
    fused = _sum(inputs, union).with_ties_by(sequences_of)
    places = np.searchsorted(union, fused.ordinals)
    candidates = Candidates(
        ordinals=fused.ordinals,
        fused=fused.scores.astype(np.float64),
        cosine=exact[places].astype(np.float64),
        mass=np.zeros(len(fused), np.float64),
        found_by=_found_by(retrieved, union)[places],
        preferences=retrieved.preferences,
        profile_facts=retrieved.profile_facts,
        fusion_inputs=tuple(inputs),
    )
    return _with_evidence(candidates, retrieved, cosines)


def _weight(ranking: Ranking, weights: Mapping[str, float], rephrased_weight: float) -> float:
    return rephrased_weight if ranking.words else weights[ranking.channel]


def _reciprocal(ranking: Ranking, weight: float, *, k: int, bonuses: Sequence[float]) -> FusionInput:
    hits = ranking.hits
    added = np.zeros(len(hits))
    count = min(len(bonuses), len(hits))
    added[:count] = bonuses[:count]
    ranks = np.arange(1, len(hits) + 1, dtype=np.float64)
    scores = reciprocal(weight, k, ranks, added)
    return FusionInput(ranking, weight, scores, normal=1.0 / (k + ranks), bonuses=added)


def _scaled(ranking: Ranking, share: float, *, lexical_limit: int) -> FusionInput:
    scores = ranking.hits.scores.astype(np.float64)
    has_every_match = ranking.channel == LEXICAL and len(scores) < lexical_limit
    least = 0.0 if has_every_match else float(scores.min(initial=np.inf))
    span = max(float(scores.max(initial=-np.inf)) - least, 0.0)
    normal = normalised(scores, least, span) if span > 0 else np.ones_like(scores)
    return FusionInput(ranking, share, share * normal, normal=normal, least=least, span=span)


def _sum(inputs: Sequence[FusionInput], union: NDArray[np.int64]) -> Hits:
    """The sums by candidate; `union` are all of them, ascending."""
    ordinals = np.concatenate([one.hits.ordinals for one in inputs])
    scores = np.concatenate([one.scores for one in inputs])
    places = np.searchsorted(union, ordinals)
    summed = np.bincount(places, weights=scores, minlength=len(union)).astype(np.float32)
    return Hits.ranked(union, summed, limit=len(union))


def _with_exact_dense(
    retrieved: Retrieved, union: NDArray[np.int64], exact: NDArray[np.float32]
) -> tuple[Ranking, ...]:
    if retrieved.lexical_alone:
        return retrieved.rankings
    others = tuple(ranking for ranking in retrieved.rankings if ranking.channel != DENSE or ranking.words)
    return (Ranking(DENSE, Hits.ranked(union, exact, limit=len(union))), *others)


def _with_evidence(candidates: Candidates, retrieved: Retrieved, cosines: Cosines) -> Candidates:
    """The candidates with their evidence, and at the end memories that no ranking holds."""
    matches, defined, coverage = retrieved.phrase_match, retrieved.definition, retrieved.term_coverage
    evident = [hits.ordinals for hits in (matches, defined, coverage) if hits is not None]
    if not evident:
        return candidates
    found = np.setdiff1d(np.concatenate(evident), candidates.ordinals)
    ordinals = np.concatenate([candidates.ordinals, found])
    return replace(
        candidates,
        ordinals=ordinals,
        fused=np.concatenate([candidates.fused, np.zeros(len(found))]),
        cosine=np.concatenate([candidates.cosine, cosines(found).astype(np.float64)]),
        mass=np.zeros(len(ordinals)),
        found_by=np.concatenate([candidates.found_by, np.full(len(found), bit_of(LEXICAL))]),
        coverage=None if coverage is None else coverage.scores_of(ordinals),
        phrase_match=np.isin(ordinals, matches.ordinals) if matches else None,
        definition=np.isin(ordinals, defined.ordinals) if defined else None,
    )


def _found_by(retrieved: Retrieved, union: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Bits of the channels that found each of `union`, which are all candidates, ascending.

    Preferences and facts of a profile are found by comparing vectors, as the dense channel does.
    """
    bits = np.zeros(len(union), np.uint8)
    for hits in retrieved.caller_hits:
        bits[np.searchsorted(union, hits.ordinals)] |= bit_of(DENSE)
    for ranking in retrieved.rankings:
        bits[np.searchsorted(union, ranking.hits.ordinals)] |= bit_of(ranking.channel)
    return bits
