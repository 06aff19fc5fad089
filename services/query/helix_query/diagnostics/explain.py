"""Makes the explanation of a recall from its trace: which step dropped each candidate, and its score.

The scores are computed again by the pure function that ranked. `api.responses.explanation` turns an
explanation into messages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from helix_query.diagnostics.explanation import Duplicate, Explanation, Loss
from helix_query.diagnostics.nearest_words import nearest_words
from helix_query.recall.packing.rows import stored_rows
from helix_query.recall.stages.diversify import (
    compared_for_duplicates,
    jaccard,
    replaced_among,
    restated_among,
    values_of,
    without_near_duplicates,
)
from helix_query.recall.stages.rank import score
from helix_query.recall.stopwatch import Stopwatch
from helix_query.scheduling.lazy import Lazy

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helix_query.recall.candidates import Candidates
    from helix_query.recall.context import RecallContext
    from helix_query.recall.result import RecallResult, Trace
    from helix_query.recall.stages.scoring import Scoring

EXCERPT_CHARACTERS: Final = 160


def explained(result: RecallResult, context: RecallContext) -> tuple[RecallResult, Explanation | None]:
    """The explanation of a result that kept a trace, and the result with the seconds this took.

    Raises:
        OverdueError: the deadline of `context` has passed.
    """
    if result.trace is None:
        return result, None
    stage = Stopwatch(context.deadline)
    with stage("explain"):
        explanation = explain(result.trace, context)
        # here, so that the time counts
        _ = explanation.nearest.value
    return replace(result, seconds=(*result.seconds, *stage.seconds)), explanation


def explain(trace: Trace, context: RecallContext) -> Explanation:
    """The explanation of the answer of `trace`: of all candidates, or of as many as the query says.

    The texts take the time: only those of the listed, and of what they repeat, are read, and only the tokens
    of the listed are compared again.
    """
    context = context.of_route(trace.route)
    candidates, profile = trace.candidates, context.profile
    places = np.zeros(len(candidates), np.int64)
    places[trace.ranked.positions] = np.arange(1, len(trace.ranked) + 1)
    duplicates = _duplicates(trace, context)
    scoring = score(context, candidates, trace.route)
    listed = order_of(candidates, scoring, places)[: context.query.explained_candidates]
    repeated = {duplicates[at].position for at in listed if at in duplicates}
    rows = _rows(candidates, context, sorted({*listed, *repeated}))
    shown = {place: (row["memory_id"], row["text"][:EXCERPT_CHARACTERS]) for place, row in rows.items()}
    ranks = {found.row["memory_id"]: rank for rank, found in enumerate(trace.rows, start=1)}
    losses = _losses(trace, context, duplicates)
    in_packing = dict.fromkeys(trace.packed.quoted_ids, Loss.QUOTED)
    in_packing |= dict.fromkeys(trace.packed.memory_ids, Loss.NONE)
    for place, (memory_id, _) in shown.items():
        losses[place] = in_packing.get(memory_id, losses[place])
    return Explanation(
        trace,
        scoring,
        losses,
        places,
        duplicates,
        listed,
        shown,
        ranks,
        threshold=profile.rank.recipe.threshold,
        threshold_on=profile.rank.recipe.threshold_on,
        k=profile.fuse.k,
        method=profile.fuse.method,
        nearest=Lazy(partial(nearest_words, context.snapshot, candidates, rows, listed)),
        query_adapter=context.adapter.value.name,
    )


def order_of(candidates: Candidates, scoring: Scoring, places: NDArray[np.int64]) -> tuple[int, ...]:
    """Positions in the order of `best_first`, those below the threshold (place 0) at the end."""
    below = np.where(places == 0, 1, 0)
    return tuple(np.lexsort((candidates.ordinals, scoring.sequence, -scoring.scores, below)).tolist())


def _losses(trace: Trace, context: RecallContext, duplicates: Mapping[int, Duplicate]) -> NDArray[np.int64]:
    """By position; all chosen candidates get the loss of the last step, also the packed ones."""
    losses = np.full(len(trace.candidates), int(Loss.THRESHOLD))
    compared, _ = compared_for_duplicates(context, trace.ranked, trace.candidates)
    losses[trace.ranked.positions] = Loss.NOT_AMONG_BEST
    losses[compared.positions] = Loss.TOP_K
    losses[list(duplicates)] = [one.loss for one in duplicates.values()]
    served = np.isin(trace.candidates.ordinals[trace.diverse.positions], context.already_served.value)
    losses[trace.diverse.positions] = np.where(served, Loss.ALREADY_SERVED, Loss.TOP_K)
    losses[trace.chosen.positions] = Loss.ABSTAINED if trace.abstained else Loss.TOKEN_BUDGET
    return losses


def _duplicates(trace: Trace, context: RecallContext) -> dict[int, Duplicate]:
    """Candidates that repeat a better one, also below the last chosen one, and replaced turns."""
    compared, _ = compared_for_duplicates(context, trace.ranked, trace.candidates)
    threshold = context.profile.diversify.near_duplicate
    ordinals = trace.candidates.ordinals[compared.positions]
    signals = context.generation.signals
    minhashes, values = signals.minhash(ordinals), values_of(signals, ordinals)
    restated = restated_among(context, ordinals, trace.route)
    kept = without_near_duplicates(
        minhashes, threshold=threshold, enough=len(compared), restated=restated, values=values
    )
    found = _replaced(trace, context)
    for row in np.setdiff1d(np.arange(len(compared)), kept).tolist():
        better = kept[kept < row]
        same = better[np.isin(better, list(restated.get(row, ())))]
        loss = Loss.RESTATEMENT if len(same) else Loss.NEAR_DUPLICATE
        near = better[jaccard(minhashes[better], minhashes[row]) >= threshold]
        others = same if len(same) else near[[values(one) == values(row) for one in near.tolist()]]
        similarity = jaccard(minhashes[others], minhashes[row])
        most = int(np.argmax(similarity))
        position = int(compared.positions[others[most]])
        found[int(compared.positions[row])] = Duplicate(position, float(similarity[most]), loss)
    return found


def _replaced(trace: Trace, context: RecallContext) -> dict[int, Duplicate]:
    """Turns that a derived statement replaces."""
    rows, by = replaced_among(context, trace.ranked, trace.candidates)
    turns, statements = trace.ranked.positions[rows], trace.ranked.positions[by]
    signatures = context.generation.signals.minhash(trace.candidates.ordinals)
    return {
        turn: Duplicate(statement, float((signatures[turn] == signatures[statement]).mean()), Loss.SAME_TURN)
        for turn, statement in zip(turns.tolist(), statements.tolist(), strict=True)
    }


def _rows(
    candidates: Candidates, context: RecallContext, wanted: Sequence[int]
) -> dict[int, Mapping[str, Any]]:
    """Rows of the `wanted` positions, by position, after the same final check as the rows of an answer."""
    selection = context.query.selection
    ordinals = candidates.ordinals[np.array(wanted, np.int64)]
    rows = stored_rows(context.snapshot, ordinals, context.visibility)
    positions = {ordinal: position for position, ordinal in enumerate(candidates.ordinals.tolist())}
    return {positions[row["ordinal"]]: row for row in rows if selection.admits(row)}
