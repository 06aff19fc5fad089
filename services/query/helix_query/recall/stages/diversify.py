"""Stage 7: removes replaced turns and restatements, then orders by marginal relevance or by session.

Near-duplicates are found by their MinHash signatures, restatements by the decided relations. Texts of the
same wording with other numbers, or with a negation that one of them lacks, are no duplicates. Novelty is the
cosine of the stored vectors or, where the best of each session goes first, that of MinHash. Memories that the
caller has are dropped last: what repeats them goes with them, and they count against novelty.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Final

import numpy as np

from helix_query.profile.intent import Intent
from helix_query.profile.past_question import PastQuestion
from helix_query.recall.candidates import Ranked
from helix_query.recall.evidence.written_values import written_values
from helix_query.recall.lifecycle.derived_statements import replaced_turns
from helix_query.recall.lifecycle.restatements import NO_RESTATEMENTS, restatements_among
from helix_query.recall.stages.normalise import normalise

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helix_query.recall.candidates import Candidates, Route
    from helix_query.recall.context import RecallContext
    from helix_shared.artifacts.signals.reader import Signals

_NONE: Final[frozenset[int]] = frozenset()
_NO_VALUES: Final[frozenset[str]] = frozenset()
NO_ROWS: Final = np.empty(0, np.int64)
Similarity = Callable[[int], "NDArray[np.float64]"]
"""Similarity of every row to the row of this number."""
ValuesOf = Callable[[int], frozenset[str]]
"""Numbers and negations in the text of the row of this number."""


def diversify(context: RecallContext, ranked: Ranked, candidates: Candidates, route: Route) -> Ranked:
    """Stage 7 over the best candidates; what the caller has comes on top of the number wanted."""
    constants, signals = context.profile.diversify, context.generation.signals
    compared, count = compared_for_duplicates(context, ranked, candidates)
    by_session = Intent.AGGREGATION in route.intents and constants.session_floor <= 1
    ordinals = candidates.ordinals[compared.positions]
    return diverse(
        compared,
        minhashes=signals.minhash(ordinals),
        vectors=lambda rows: signals.vectors(ordinals[rows]),
        sessions=signals.session_code[ordinals],
        count=count,
        near_duplicate=constants.near_duplicate,
        mmr_lambda=constants.mmr_lambda,
        session_floor=constants.session_floor if by_session else None,
        session_mmr_lambda=constants.session_mmr_lambda,
        restated=restated_among(context, ordinals, route),
        values=values_of(signals, ordinals),
    )


def values_of(signals: Signals, ordinals: NDArray[np.int64]) -> ValuesOf:
    """Values of the memories of `ordinals` by row; a text is read when a row is first asked for."""

    @cache
    def values(row: int) -> frozenset[str]:
        records = signals.records(ordinals[row : row + 1])
        return written_values(records[0]["text"]) if records else _NO_VALUES

    return values


def restated_among(
    context: RecallContext, ordinals: NDArray[np.int64], route: Route
) -> Mapping[int, frozenset[int]]:
    """For each row of `ordinals`, the rows that say the same; an answer has only the best of them.

    Empty for questions about earlier times or about all of a kind, for which each repetition matters, and at
    past moments, for which decisions made later do not count.
    """
    repeats_matter = route.past_question is not PastQuestion.NO or Intent.AGGREGATION in route.intents
    if not context.profile.diversify.one_per_statement or repeats_matter or context.query.selection.past:
        return NO_RESTATEMENTS
    return restatements_among(context.generation.relations, ordinals)


def compared_for_duplicates(
    context: RecallContext, ranked: Ranked, candidates: Candidates
) -> tuple[Ranked, int]:
    """The best, which alone are compared for duplicates, and how many of them are chosen.

    Turns that a derived statement replaces are not among them.
    """
    count = context.top_k + int(np.isin(candidates.ordinals, context.already_served.value).sum())
    turns, _ = replaced_among(context, ranked, candidates)
    kept = np.delete(np.arange(len(ranked)), turns)
    single = Ranked(ranked.positions[kept], ranked.scores[kept])
    return single.first(max(context.profile.diversify.candidates, 2 * count)), count


def replaced_among(
    context: RecallContext, ranked: Ranked, candidates: Candidates
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows of `ranked` that a derived statement replaces, and the rows of those statements."""
    signals, ordinals = context.generation.signals, candidates.ordinals[ranked.positions]
    is_derived = signals.is_derived[ordinals]
    if not context.profile.diversify.one_per_turn or not is_derived.any():
        return NO_ROWS, NO_ROWS
    return replaced_turns(signals.source_code[ordinals], is_derived, ranked.scores)


def without_already_served(
    context: RecallContext, ranked: Ranked, candidates: Candidates
) -> tuple[Ranked, int]:
    """The memories wanted that the caller has not, and how many it has among them."""
    served = np.isin(candidates.ordinals[ranked.positions], context.already_served.value)
    return first_new(ranked, served, count=context.top_k)


def behind_served(
    context: RecallContext, positions: NDArray[np.int64], ranked: Ranked, candidates: Candidates
) -> NDArray[np.int64]:
    """How many memories that the caller has come before each of `positions` [n] of `ranked`, in its order."""
    already_served = context.already_served.value
    if not len(already_served):
        return np.zeros(len(positions), np.int64)
    served = np.isin(candidates.ordinals[ranked.positions], already_served)
    before = np.zeros(len(candidates), np.int64)
    before[ranked.positions] = np.cumsum(served)
    return before[positions]


def first_new(ranked: Ranked, served: NDArray[np.bool_], *, count: int) -> tuple[Ranked, int]:
    """The first `count` that are not `served`, and how many served ones are before the last of them.

    `served` runs parallel to `ranked`. With fewer than `count` new ones, all served ones are counted.
    """
    new = np.flatnonzero(~served)[:count]
    reached = int(new[-1]) if len(new) == count else len(ranked)
    return Ranked(ranked.positions[new], ranked.scores[new]), int(served[:reached].sum())


def diverse(
    ranked: Ranked,
    *,
    minhashes: NDArray[np.uint32],
    vectors: Callable[[NDArray[np.int64]], NDArray[np.float32]],
    sessions: NDArray[np.int64],
    count: int,
    near_duplicate: float = 0.8,
    mmr_lambda: float = 0.5,
    session_floor: float | None = None,
    session_mmr_lambda: float = 1.0,
    restated: Mapping[int, frozenset[int]] = NO_RESTATEMENTS,
    values: ValuesOf = lambda _: _NO_VALUES,
) -> Ranked:
    """The `count` to return, in their order, each with its score.

    `minhashes` and `sessions` run parallel to `ranked`; `vectors` gives the unit vectors of some of its rows,
    for marginal relevance only, and `values` those of rows of nearly the same wording. With `session_floor`
    the best of each session comes first, if it reaches that share of the best score; with a
    `session_mmr_lambda` below 1 the others follow by marginal relevance.
    """
    # Without MMR and coverage the order stays, so the first `count` distinct ones are the answer.
    enough = count if mmr_lambda >= 1.0 and session_floor is None else len(ranked)
    kept = without_near_duplicates(
        minhashes, threshold=near_duplicate, enough=enough, restated=restated, values=values
    )
    scores = ranked.scores[kept]
    if session_floor is not None:
        leads = session_leads(scores, sessions[kept], floor=session_floor)
        signatures = minhashes[kept]
        order = mmr(
            normalise(scores),
            lambda row: jaccard(signatures, signatures[row]),
            weight=session_mmr_lambda,
            count=count,
            first=leads.tolist(),
        )
    else:
        order = mmr(normalise(scores), _cosines(vectors, kept), weight=mmr_lambda, count=count)
    chosen = kept[order]
    return Ranked(ranked.positions[chosen], ranked.scores[chosen])


def without_near_duplicates(
    minhashes: NDArray[np.uint32],
    *,
    threshold: float,
    enough: int,
    restated: Mapping[int, frozenset[int]] = NO_RESTATEMENTS,
    values: ValuesOf = lambda _: _NO_VALUES,
) -> NDArray[np.int64]:
    """The first `enough` rows that are no near-duplicate of a row kept before.

    A near-duplicate has an estimated Jaccard of at least `threshold` and the same `values`. None of them says
    the same as a row kept before, by `restated`.
    """
    kept: list[int] = []
    for row, signature in enumerate(minhashes):
        if len(kept) >= enough:
            break
        equal = (minhashes[kept] == signature).sum(axis=1) if kept else np.empty(0)
        if not restated.get(row, _NONE).isdisjoint(kept):
            continue
        similar = np.flatnonzero(equal / len(signature) >= threshold)
        if not any(values(kept[one]) == values(row) for one in similar.tolist()):
            kept.append(row)
    return np.array(kept, np.int64)


def jaccard(minhashes: NDArray[np.uint32], one: NDArray[np.uint32]) -> NDArray[np.float64]:
    """Estimated Jaccard coefficient of each row with `one`: share of equal permutations (Broder 1997)."""
    return (minhashes == one).mean(axis=1) if minhashes.size else np.zeros(len(minhashes))


def session_leads(
    scores: NDArray[np.float64], sessions: NDArray[np.int64], *, floor: float
) -> NDArray[np.int64]:
    """Rows (given best first) that are the best of their session and reach `floor` x the best score.

    Session 0 is none: each of its rows is a session of its own.
    """
    if not len(scores):
        return np.empty(0, np.int64)
    alone = -1 - np.arange(len(scores))
    _, firsts = np.unique(np.where(sessions == 0, alone, sessions), return_index=True)
    leads: NDArray[np.int64] = np.sort(firsts[scores[firsts] >= floor * scores[0]]).astype(np.int64)
    return leads


def mmr(
    relevance: NDArray[np.float64],
    similarity: Similarity,
    *,
    weight: float,
    count: int,
    first: Sequence[int] = (),
) -> NDArray[np.int64]:
    """Maximal marginal relevance (Carbonell, Goldstein 1998): `count` rows in the order they are chosen.

    The rows `first` come first. Then argmax of weight x relevance - (1 - weight) x the greatest similarity to
    a chosen row; of equals the first. With `weight` 1 the others follow by relevance.
    """
    chosen = [*first[:count]]
    left = np.ones(len(relevance), bool)
    left[chosen] = False
    if weight >= 1.0:
        order = np.argsort(-relevance, kind="stable")
        return np.array([*chosen, *order[left[order]]], np.int64)[:count]
    closest = np.zeros(len(relevance))
    for number, row in enumerate(chosen):
        closest = np.maximum(closest, similarity(row)) if number else similarity(row)
    while len(chosen) < count and left.any():
        marginal = np.where(left, weight * relevance - (1.0 - weight) * closest, -np.inf)
        best = int(np.argmax(marginal))
        closest = np.maximum(closest, similarity(best)) if chosen else similarity(best)
        left[best] = False
        chosen.append(best)
    return np.array(chosen, np.int64)


def _cosines(
    vectors: Callable[[NDArray[np.int64]], NDArray[np.float32]], rows: NDArray[np.int64]
) -> Similarity:
    @cache
    def every() -> NDArray[np.float64]:
        units = vectors(rows).astype(np.float64)
        products: NDArray[np.float64] = units @ units.T
        return products

    return lambda row: every()[row]
