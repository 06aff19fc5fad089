"""Stage 4: several ranked lists become one pool with one score, and everyone gets an exact cosine.

`rrf` and `minmax` have one shape; the ranking profile names which. Approximate scores of the dense
index never enter: cosines come from the stored vectors. Stage 5 expands the pool.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from helix_memory.arithmetic import normalised, reciprocal
from helix_query.recall.candidates import (
    APART,
    CHANNELS,
    COVERING,
    DENSE,
    LEXICAL,
    QUOTED,
    Candidates,
    FusionInput,
    Ranking,
    Retrieved,
)
from helix_shared.artifacts.hits import Hits

if TYPE_CHECKING:
    from numpy.typing import NDArray

Cosines = Callable[["NDArray[np.int64]"], "NDArray[np.float32]"]
Weigh = Callable[["NDArray[np.int64]", "NDArray[np.float32]"], Mapping[str, float]]
"""Weights of the lists, from all candidates, ascending, and their cosines."""


def fuse(
    retrieved: Retrieved,
    *,
    cosines: Cosines,
    method: Literal["rrf", "minmax"],
    weights: Mapping[str, float] | Weigh,
    k: int = 60,
    rank_bonuses: Sequence[float] = (),
    lexical_limit: int = 100,
    rephrased_weight: float = 1.0,
) -> Candidates:
    """One pool out of all lists, best first; the weights may hang on what is in them.

    With `minmax` the dense list is completed by the exact cosines of those that only another channel
    found, so that the blend knows the true cosine of everyone. A lexical list shorter than
    `lexical_limit` holds every match; the next memory has BM25 score 0, so its scale starts there.
    Without that, of two like matches the second would be worth nothing.
    """
    apart, retrieved = _apart(retrieved)
    union = np.unique(np.concatenate([ranking.hits.ordinals for ranking in retrieved.rankings]))
    exact = cosines(union).astype(np.float32, copy=False)
    if callable(weights):
        weights = weights(union, exact)
    if method == "rrf":
        rankings = retrieved.rankings
        lists, shares = _split(rankings, weights, rephrased_weight)
        given = _reciprocal(lists, shares, k=k, bonuses=rank_bonuses)
    else:
        rankings = _with_exact_dense(retrieved, union, exact)
        lists, shares = _split(rankings, weights, rephrased_weight)
        floors = [
            0.0 if ranking.channel == LEXICAL and len(ranking.hits) < lexical_limit else None
            for ranking in rankings
        ]
        given = _scaled(lists, shares, floors=floors)
    fused = _sum(given, union)
    places = np.searchsorted(union, fused.ordinals)
    pool = Candidates(
        ordinals=fused.ordinals,
        fused=fused.scores.astype(np.float64),
        cosine=exact[places].astype(np.float64),
        mass=np.zeros(len(fused), np.float64),
        found_by=_found_by(retrieved.rankings, union)[places],
        given=tuple(replace(one, ranking=ranking) for one, ranking in zip(given, rankings, strict=True)),
    )
    return _with_apart(pool, apart, cosines) if apart else pool


def rrf(
    lists: Sequence[Hits], weights: Sequence[float], *, k: int = 60, bonuses: Sequence[float] = ()
) -> Hits:
    """Reciprocal rank fusion: sum of weight / (k + rank), rank from 1 (Cormack, Clarke, Buettcher 2009).

    `bonuses[i]` is added once for every list that has the candidate at rank i + 1.
    """
    return _sum(_reciprocal(lists, weights, k=k, bonuses=bonuses))


def _reciprocal(
    lists: Sequence[Hits], weights: Sequence[float], *, k: int, bonuses: Sequence[float]
) -> list[FusionInput]:
    given = []
    for hits, weight in zip(lists, weights, strict=True):
        added = np.zeros(len(hits))
        count = min(len(bonuses), len(hits))
        added[:count] = bonuses[:count]
        scores = reciprocal(weight, k, np.arange(1, len(hits) + 1, dtype=np.float64), added)
        given.append(FusionInput(hits, weight, scores, bonuses=added))
    return given


def minmax(
    lists: Sequence[Hits], weights: Sequence[float], *, floors: Sequence[float | None] | None = None
) -> Hits:
    """Score fusion: sum of weight x (score - least) / (most - least) by list, weights scaled to sum 1.

    `floors` gives the least of a list where it is known; None means the least score in the list. A list
    whose scores are all equal gives all of its own a 1; who is not in a list gets 0 from it.
    """
    return _sum(_scaled(lists, weights, floors=floors or [None] * len(lists)))


def _scaled(
    lists: Sequence[Hits], weights: Sequence[float], *, floors: Sequence[float | None]
) -> list[FusionInput]:
    total = float(sum(weights)) or 1.0
    given = []
    for hits, weight, floor in zip(lists, weights, floors, strict=True):
        scores = hits.scores.astype(np.float64)
        least = float(scores.min(initial=np.inf)) if floor is None else floor
        span = max(float(scores.max(initial=-np.inf)) - least, 0.0)
        normal = normalised(scores, least, span) if span > 0 else np.ones_like(scores)
        share = weight / total
        given.append(FusionInput(hits, share, share * normal, least=least, span=span, normal=normal))
    return given


def _sum(given: Sequence[FusionInput], union: NDArray[np.int64] | None = None) -> Hits:
    """The sums by candidate; `union` are all of them, ascending, where that is known."""
    ordinals = np.concatenate([one.hits.ordinals for one in given] or [np.empty(0, np.int64)])
    scores = np.concatenate([one.scores for one in given] or [np.empty(0, np.float64)])
    union = np.unique(ordinals) if union is None else union
    places = np.searchsorted(union, ordinals)
    summed = np.bincount(places, weights=scores, minlength=len(union)).astype(np.float32)
    return Hits.ranked(union, summed, limit=len(union))


def _with_exact_dense(
    retrieved: Retrieved, union: NDArray[np.int64], exact: NDArray[np.float32]
) -> tuple[Ranking, ...]:
    if retrieved.lexical_alone:
        return retrieved.rankings
    others = tuple(ranking for ranking in retrieved.rankings if ranking.channel != DENSE or ranking.query)
    dense = Ranking(DENSE, Hits.ranked(union, exact, limit=len(union)))
    return (dense, *others)


def _split(
    rankings: Sequence[Ranking], weights: Mapping[str, float], rephrased_weight: float
) -> tuple[list[Hits], list[float]]:
    shares = [rephrased_weight if ranking.query else weights[ranking.channel] for ranking in rankings]
    return [ranking.hits for ranking in rankings], shares


def _apart(retrieved: Retrieved) -> tuple[Mapping[str, Hits], Retrieved]:
    """The lists of who holds most of the words and of who holds them all in a row, and what is left.

    Their scores have another meaning, so they are not fused; unless there are no others.
    """
    fused = tuple(ranking for ranking in retrieved.rankings if ranking.query not in APART)
    if not fused:
        return {}, retrieved
    apart = {one.query: one.hits for one in retrieved.rankings if one.query in APART}
    return apart, replace(retrieved, rankings=fused)


def _with_apart(pool: Candidates, apart: Mapping[str, Hits], cosines: Cosines) -> Candidates:
    """The pool with what the lists say of everyone, and those that only they found at its end."""
    found = np.setdiff1d(np.concatenate([hits.ordinals for hits in apart.values()]), pool.ordinals)
    ordinals = np.concatenate([pool.ordinals, found])
    bit = np.uint8(1 << CHANNELS.index(LEXICAL))
    covering, quoting = apart.get(COVERING), apart.get(QUOTED)
    return replace(
        pool,
        ordinals=ordinals,
        fused=np.concatenate([pool.fused, np.zeros(len(found))]),
        cosine=np.concatenate([pool.cosine, cosines(found).astype(np.float64)]),
        mass=np.zeros(len(ordinals)),
        found_by=np.concatenate([pool.found_by, np.full(len(found), bit)]),
        coverage=None if covering is None else covering.scores_of(ordinals),
        quoted=np.isin(ordinals, quoting.ordinals) if quoting else None,
    )


def _found_by(rankings: Sequence[Ranking], union: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Bits of the channels that found each of `union`, which are all candidates, ascending."""
    bits = np.zeros(len(union), np.uint8)
    for ranking in rankings:
        bits[np.searchsorted(union, ranking.hits.ordinals)] |= np.uint8(1 << CHANNELS.index(ranking.channel))
    return bits
