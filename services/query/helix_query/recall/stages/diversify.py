"""Stage 7: nothing said twice. Near-duplicates out, then maximal marginal relevance.

Near-duplicates are told by their MinHash signatures, novelty by the cosine of the stored vectors.
Stage 8 packs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import numpy as np

from helix_query.recall.candidates import Ranked
from helix_query.recall.stages.normalise import normalise
from helix_query.recall.stages.session_coverage import cover_then_mmr, session_leads

if TYPE_CHECKING:
    from numpy.typing import NDArray

_NO_VECTORS: Final = np.empty((0, 0), np.float32)


def diversify(
    ranked: Ranked,
    *,
    minhashes: NDArray[np.uint32],
    vectors: Callable[[NDArray[np.int64]], NDArray[np.float32]],
    sessions: NDArray[np.int64],
    count: int,
    near_duplicate: float = 0.8,
    mmr_lambda: float = 0.5,
    session_floor: float | None = None,
    coverage_lambda: float = 1.0,
) -> Ranked:
    """The `count` to return, in their order, each with its score.

    `minhashes` and `sessions` run parallel to `ranked`; `vectors` gives the unit vectors of some of its rows,
    which only marginal relevance asks for. With `session_floor` the best
    of each session comes first, as far as it reaches that share of the best score, and with a
    `coverage_lambda` below 1 the others follow by maximal marginal relevance.
    """
    # Without MMR and coverage the order stays, so the first `count` distinct ones are the answer.
    enough = count if mmr_lambda >= 1.0 and session_floor is None else len(ranked)
    kept = distinct(minhashes, threshold=near_duplicate, enough=enough)
    scores = ranked.scores[kept]
    if session_floor is not None and coverage_lambda < 1.0:
        leads = session_leads(scores, sessions[kept], floor=session_floor)
        order = cover_then_mmr(normalise(scores), minhashes[kept], leads, weight=coverage_lambda, count=count)
    elif session_floor is not None:
        order = cover_sessions(scores, sessions[kept], floor=session_floor)[:count]
    else:
        units = vectors(kept) if mmr_lambda < 1.0 else _NO_VECTORS
        order = mmr(normalise(scores), units, weight=mmr_lambda, count=count)
    chosen = kept[order]
    return Ranked(ranked.positions[chosen], ranked.scores[chosen])


def distinct(minhashes: NDArray[np.uint32], *, threshold: float, enough: int) -> NDArray[np.int64]:
    """The first `enough` rows whose estimated Jaccard with every row kept before is below `threshold`.

    The share of equal permutations estimates the Jaccard coefficient (Broder 1997).
    """
    kept: list[int] = []
    for row, signature in enumerate(minhashes):
        if len(kept) >= enough:
            break
        equal = (minhashes[kept] == signature).sum(axis=1) if kept else np.empty(0)
        if not (equal / len(signature) >= threshold).any():
            kept.append(row)
    return np.array(kept, np.int64)


def mmr(
    relevance: NDArray[np.float64], vectors: NDArray[np.float32], *, weight: float, count: int
) -> NDArray[np.int64]:
    """Maximal marginal relevance (Carbonell, Goldstein 1998): rows in the order they are chosen.

    Chooses argmax of weight x relevance - (1 - weight) x the greatest cosine to one chosen before; of
    equals the first.
    """
    if weight >= 1.0:
        return np.argsort(-relevance, kind="stable")[:count]
    similarity = vectors.astype(np.float64) @ vectors.astype(np.float64).T
    closest = np.zeros(len(relevance))
    open_rows = np.ones(len(relevance), bool)
    chosen: list[int] = []
    for _ in range(min(count, len(relevance))):
        marginal = np.where(open_rows, weight * relevance - (1.0 - weight) * closest, -np.inf)
        best = int(np.argmax(marginal))
        closest = similarity[best] if not chosen else np.maximum(closest, similarity[best])
        open_rows[best] = False
        chosen.append(best)
    return np.array(chosen, np.int64)


def cover_sessions(
    scores: NDArray[np.float64], sessions: NDArray[np.int64], *, floor: float
) -> NDArray[np.int64]:
    """Rows (given best first) with the best of each session up front if it reaches `floor` x the best.

    Session 0 is none: each of its rows stands for itself.
    """
    leads = session_leads(scores, sessions, floor=floor)
    rest = np.setdiff1d(np.arange(len(scores)), leads)
    return np.concatenate([leads, rest]).astype(np.int64)
