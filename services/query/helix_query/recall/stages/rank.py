"""Stage 6: the final score of every candidate: the base score, then one named step after another.

`score_candidates` has the order of the steps. `base_score` makes the score that they begin with.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from helix_memory.explanation import CROSS_ENCODER, LATE_INTERACTION
from helix_query.recall.candidate_signals import CandidateSignals, candidate_signals
from helix_query.recall.candidates import Candidates, Ranked, Route
from helix_query.recall.evidence.comparisons import comparisons
from helix_query.recall.lifecycle.derived_statements import derived_gains
from helix_query.recall.lifecycle.speech_acts import asks_about_questions
from helix_query.recall.recipes.factors import reaches_threshold, recipe_factors, scale_factor
from helix_query.recall.recipes.noise import noise
from helix_query.recall.stages.base_score import base_score
from helix_query.recall.stages.latest_statement import TOP_GAIN
from helix_query.recall.stages.lifecycle import lifecycle_steps
from helix_query.recall.stages.scoring import Scoring, boosted
from helix_shared.artifacts.signals.columns import code, hashed

if TYPE_CHECKING:
    from datetime import datetime

    from helix_query.profile.recipes.scoring import Recipe
    from helix_query.profile.sections.ranking import Rank
    from helix_query.recall.context import RecallContext
    from helix_query.recall.stages.scoring import ScoreBuilder


def rank(context: RecallContext, candidates: Candidates, route: Route) -> tuple[Candidates, Ranked]:
    """Stage 6: the candidates with their signals, and their order without those below the threshold."""
    read = replace(candidates, signals=_raw_signals(context, candidates))
    scored = score(context, read, route)
    return replace(read, base_score=scored.base_score), best_first(read, scored)


def score(context: RecallContext, candidates: Candidates, route: Route) -> Scoring:
    """The scores of stage 6, and what they are made of."""
    query = context.query
    return score_candidates(
        candidates,
        candidates.signals or _raw_signals(context, candidates),
        route,
        now=query.now,
        constants=context.profile.rank,
        project_code=code(query.project_id) if query.project_id else None,
        seed=hashed(query.text),
        wants_questions=asks_about_questions(query.text),
    )


def _raw_signals(context: RecallContext, candidates: Candidates) -> CandidateSignals:
    past = context.query.selection.past
    return candidate_signals(context.generation.signals, candidates.ordinals, past)


def best_first(candidates: Candidates, scored: Scoring) -> Ranked:
    """The order of these scores, equal ones as in the log, without candidates below the threshold."""
    order = np.lexsort((candidates.ordinals, scored.sequence, -scored.scores))
    order = order[scored.reached[order]]
    return Ranked(order.astype(np.int64), scored.scores[order])


def score_candidates(
    candidates: Candidates,
    raw: CandidateSignals,
    route: Route,
    *,
    now: datetime,
    constants: Rank,
    project_code: int | None = None,
    seed: int = 0,
    wants_questions: bool = False,
) -> Scoring:
    """The scores of the candidates and what they are made of.

    `project_code` is the caller's project, `seed` that of the recipe's noise. With `wants_questions` bare
    questions keep their places.
    """
    base = candidates.base_score or base_score(
        candidates, raw, route, now=now, constants=constants, project_code=project_code
    )
    builder = boosted(base)
    compared = comparisons(builder.scores, candidates)
    for name, one in compared.items():
        builder.plus(name, one.gains)
    recipe = constants.recipe
    for name, factor in recipe_factors(raw, constants=recipe, now=now, project_code=project_code).items():
        builder.times(name, factor)
    lifecycle_steps(
        builder,
        candidates,
        raw,
        route,
        now=now,
        constants=constants,
        wants_questions=wants_questions,
        interaction_gains=compared.get(LATE_INTERACTION),
    )
    _caller_steps(builder, candidates, constants)
    _scale_and_noise(builder, candidates, recipe, seed)
    reached = reaches_threshold(base.relevance.values, builder.scores, constants=recipe)
    for name, found in (("phrase_match", candidates.phrase_match), ("definition", candidates.definition)):
        if found is not None:
            # It is lifted over all others, whose scores stay as they are.
            builder.plus(name, found * (TOP_GAIN * builder.scores.max(initial=0.0)))
            reached = reached | found
    if raw.is_derived.any():
        builder.plus("derived", derived_gains(builder.scores, raw))
    return Scoring(
        base,
        constants.fused_share,
        tuple(builder.steps),
        builder.scores,
        reached,
        raw.sequence,
        interaction_gains=compared.get(LATE_INTERACTION),
        cross_gains=compared.get(CROSS_ENCODER),
    )


def _caller_steps(builder: ScoreBuilder, candidates: Candidates, constants: Rank) -> None:
    """Gains of the caller's preferences and facts, as shares of the best score."""
    for name, hits, gain in (
        ("preference", candidates.preferences, constants.preference_gain),
        ("profile_fact", candidates.profile_facts, constants.profile_fact_gain),
    ):
        if hits is not None and gain:
            gains = hits.scores_of(candidates.ordinals).astype(np.float64)
            builder.plus(name, gains * (gain * builder.scores.max(initial=0.0)))


def _scale_and_noise(builder: ScoreBuilder, candidates: Candidates, recipe: Recipe, seed: int) -> None:
    """The last steps of a published recipe; none by default."""
    scaled = scale_factor(builder.scores, constants=recipe)
    if scaled != 1.0:
        builder.times("scale", np.full(len(candidates), scaled))
    if recipe.noise:
        drawn = noise(candidates.ordinals, seed=seed, sigma=recipe.noise_sigma)
        # a score never falls below 0
        builder.plus("noise", np.maximum(drawn, -builder.scores))
