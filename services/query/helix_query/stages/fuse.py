"""Stage 4: several ranked lists become one pool with one score, and everyone gets an exact cosine.

`rrf` and `minmax` have one shape; the ranking profile names which. Approximate scores of the dense
index never enter: cosines come from the stored vectors. Stage 5 expands the pool.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from helix_query.pool import CHANNELS, DENSE, LEXICAL, Pool, Ranking, Retrieved
from helix_shared.artifacts.ranking import Hits

if TYPE_CHECKING:
    from numpy.typing import NDArray

Cosines = Callable[["NDArray[np.int64]"], "NDArray[np.float32]"]


def fuse(
    retrieved: Retrieved,
    *,
    cosines: Cosines,
    form: Literal["rrf", "minmax"],
    weights: Mapping[str, float],
    k: int = 60,
    rank_bonuses: Sequence[float] = (),
    lexical_limit: int = 100,
) -> Pool:
    """One pool out of all lists, best first.

    With `minmax` the dense list is completed by the exact cosines of those that only another channel
    found, so that the blend knows the true cosine of everyone. A lexical list shorter than
    `lexical_limit` holds every match; the next memory has BM25 score 0, so its scale starts there.
    Without that, of two like matches the second would be worth nothing.
    """
    union = np.unique(np.concatenate([ranking.hits.ordinals for ranking in retrieved.rankings]))
    exact = cosines(union).astype(np.float32) if len(union) else np.empty(0, np.float32)
    if form == "rrf":
        lists, shares = _split(retrieved.rankings, weights)
        fused = rrf(lists, shares, k=k, bonuses=rank_bonuses)
    else:
        rankings = _with_exact_dense(retrieved, union, exact)
        lists, shares = _split(rankings, weights)
        floors = [
            0.0 if ranking.channel == LEXICAL and len(ranking.hits) < lexical_limit else None
            for ranking in rankings
        ]
        fused = minmax(lists, shares, floors=floors)
    return Pool(
        ordinals=fused.ordinals,
        fused=fused.scores.astype(np.float64),
        cosine=exact[np.searchsorted(union, fused.ordinals)].astype(np.float64),
        mass=np.zeros(len(fused), np.float64),
        found_by=_found_by(retrieved.rankings, fused.ordinals),
    )


def rrf(
    lists: Sequence[Hits], weights: Sequence[float], *, k: int = 60, bonuses: Sequence[float] = ()
) -> Hits:
    """Reciprocal rank fusion: sum of weight / (k + rank), rank from 1 (Cormack, Clarke, Buettcher 2009).

    `bonuses[i]` is added once for every list that has the candidate at rank i + 1.
    """
    scored = []
    for hits, weight in zip(lists, weights, strict=True):
        scores = weight / (k + np.arange(1, len(hits) + 1, dtype=np.float64))
        count = min(len(bonuses), len(hits))
        scores[:count] += np.asarray(bonuses[:count], dtype=np.float64)
        scored.append((hits.ordinals, scores))
    return _sum(scored)


def minmax(
    lists: Sequence[Hits], weights: Sequence[float], *, floors: Sequence[float | None] | None = None
) -> Hits:
    """Score fusion: sum of weight x (score - least) / (most - least) by list, weights scaled to sum 1.

    `floors` gives the least of a list where it is known; None means the least score in the list. A list
    whose scores are all equal gives all of its own a 1; who is not in a list gets 0 from it.
    """
    total = float(sum(weights)) or 1.0
    scored = []
    for hits, weight, floor in zip(lists, weights, floors or [None] * len(lists), strict=True):
        scores = hits.scores.astype(np.float64)
        least = float(scores.min(initial=np.inf)) if floor is None else floor
        span = float(scores.max(initial=-np.inf)) - least
        normal = (scores - least) / span if span > 0 else np.ones_like(scores)
        scored.append((hits.ordinals, weight / total * normal))
    return _sum(scored)


def _sum(scored: Sequence[tuple[NDArray[np.int64], NDArray[np.float64]]]) -> Hits:
    ordinals = np.concatenate([part for part, _ in scored] or [np.empty(0, np.int64)])
    scores = np.concatenate([part for _, part in scored] or [np.empty(0, np.float64)])
    union, inverse = np.unique(ordinals, return_inverse=True)
    summed = np.bincount(inverse, weights=scores, minlength=len(union)).astype(np.float32)
    return Hits.ranked(union, summed, limit=len(union))


def _with_exact_dense(
    retrieved: Retrieved, union: NDArray[np.int64], exact: NDArray[np.float32]
) -> tuple[Ranking, ...]:
    if retrieved.lexical_alone:
        return retrieved.rankings
    others = tuple(ranking for ranking in retrieved.rankings if ranking.channel != DENSE)
    dense = Ranking(DENSE, Hits.ranked(union, exact, limit=len(union)))
    return (dense, *others)


def _split(rankings: Sequence[Ranking], weights: Mapping[str, float]) -> tuple[list[Hits], list[float]]:
    return [ranking.hits for ranking in rankings], [weights[ranking.channel] for ranking in rankings]


def _found_by(rankings: Sequence[Ranking], ordinals: NDArray[np.int64]) -> NDArray[np.uint8]:
    bits = np.zeros(len(ordinals), np.uint8)
    for ranking in rankings:
        bit = np.uint8(1 << CHANNELS.index(ranking.channel))
        bits |= np.where(np.isin(ordinals, ranking.hits.ordinals), bit, np.uint8(0))
    return bits
