"""Stage 6: the final score of every candidate, from relevance, quality and graph mass.

All signals are min-max normalised over the candidates. The ranking profile names the method: `additive` by
memory type, `multiplicative`, or `blend` of the published recipes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from helix_memory.arithmetic import blend, lifted, weighted
from helix_memory.explanation import CROSS_ENCODER, LATE_INTERACTION, QUALITY, WEIGHED
from helix_memory.vocabulary.memory_types import MEMORY_TYPES
from helix_query.profile.intent import Intent
from helix_query.recall.candidates import Candidates, CandidateSignals, Ranked, Route, Window
from helix_query.recall.evidence.comparisons import comparisons
from helix_query.recall.lifecycle.speech_acts import asks_about_questions
from helix_query.recall.lifecycle.turns import derived_gains
from helix_query.recall.recipes.factors import blended_signals, passing, recipe_factors, scale
from helix_query.recall.recipes.noise import noise
from helix_query.recall.relevance import Relevance, Signal, Weighed
from helix_query.recall.stages.latest_statement import STEP
from helix_query.recall.stages.lifecycle import lifecycle_steps
from helix_query.recall.stages.normalise import signal
from helix_query.recall.stages.scoring import Scoring, boosted
from helix_shared.artifacts.signals.columns import NO_TIME, code, hashed
from helix_shared.calendar_days import touching
from helix_shared.moments import microseconds

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from numpy.typing import NDArray

    from helix_query.profile.sections.ranking import Boosts, Rank
    from helix_query.recall.context import RecallContext
    from helix_shared.artifacts.signals.reader import Signals

MICROSECONDS_PER_HOUR: Final = 3_600_000_000


def rank(context: RecallContext, candidates: Candidates, route: Route) -> tuple[Candidates, Ranked]:
    """Stage 6: the candidates with their signals, and their order without those below the threshold."""
    read = replace(candidates, signals=_raw_signals(context, candidates))
    scored = score(context, read, route)
    return replace(read, weighed=scored.weighed), best_first(read, scored)


def score(context: RecallContext, candidates: Candidates, route: Route) -> Scoring:
    """The scores of stage 6, and what they are made of."""
    query = context.query
    return scoring(
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
    as_of = context.query.selection.as_of
    return candidate_signals(context.generation.signals, candidates.ordinals, as_of=as_of)


def best_first(candidates: Candidates, scored: Scoring) -> Ranked:
    """The order of these scores, equal ones by ordinal, without candidates below the threshold."""
    order = np.lexsort((candidates.ordinals, -scored.scores))
    order = order[scored.reached[order]]
    return Ranked(order.astype(np.int64), scored.scores[order])


def candidate_signals(
    signals: Signals, ordinals: NDArray[np.int64], *, as_of: datetime | None = None
) -> CandidateSignals:
    """The raw signals of candidates; accesses and feedback do not count if the last came after `as_of`."""
    accessed, counts = signals.last_accessed_at[ordinals], signals.access_count[ordinals]
    moves = signals.salience_move[ordinals].astype(np.float64)
    if as_of is not None:
        later = accessed > microseconds(as_of)
        moves = np.where(later | (signals.last_feedback_at[ordinals] > microseconds(as_of)), 0.0, moves)
        accessed, counts = np.where(later, NO_TIME, accessed), np.where(later, 0, counts)
    return CandidateSignals(
        type_code=signals.type_code[ordinals],
        touched_at=np.where(accessed == NO_TIME, signals.created_at[ordinals], accessed),
        occurred_at=signals.occurred_at[ordinals],
        event_start=signals.event_start[ordinals],
        event_end=signals.event_end[ordinals],
        salience=np.clip(signals.salience[ordinals] + moves, 0.0, 1.0),
        confidence=signals.confidence[ordinals].astype(np.float64),
        priority=signals.priority[ordinals].astype(np.float64),
        pinned=signals.pinned[ordinals].astype(bool),
        project_code=signals.project_code[ordinals],
        session_code=signals.session_code[ordinals],
        access_count=counts.astype(np.int64),
        token_count=signals.token_count[ordinals].astype(np.int64),
        about_code=signals.about_code[ordinals],
        speech_act=signals.speech_act[ordinals],
        source_code=signals.source_code[ordinals],
        is_derived=signals.is_derived[ordinals],
        replaced_at=signals.replaced_at[ordinals],
    )


def scoring(
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
    weighed = candidates.weighed or _weighed(
        candidates, raw, route, now=now, constants=constants, project_code=project_code
    )
    builder = boosted(weighed)
    compared = comparisons(builder.scores, candidates)
    for name, one in compared.items():
        builder.plus(name, one.gains)
    for name, factor in recipe_factors(
        raw, constants=constants.recipe, now=now, project_code=project_code
    ).items():
        builder.times(name, factor)
    lifecycle_steps(
        builder,
        candidates,
        raw,
        route,
        now=now,
        constants=constants,
        wants_questions=wants_questions,
        late=compared.get(LATE_INTERACTION),
    )
    for name, hits, gain in (
        ("preference", candidates.preferences, constants.preference_gain),
        ("profile_fact", candidates.profile_facts, constants.profile_fact_gain),
    ):
        if hits is not None and gain:
            gains = hits.scores_of(candidates.ordinals).astype(np.float64)
            builder.plus(name, gains * (gain * builder.scores.max(initial=0.0)))
    scaled = scale(builder.scores, constants=constants.recipe)
    if scaled != 1.0:
        builder.times("scale", np.full(len(candidates), scaled))
    if constants.recipe.noise:
        drawn = noise(candidates.ordinals, seed=seed, sigma=constants.recipe.noise_sigma)
        # a score never falls below 0
        builder.plus("noise", np.maximum(drawn, -builder.scores))
    reached = passing(weighed.relevance.values, builder.scores, constants=constants.recipe)
    if candidates.phrase_match is not None:
        # A phrase match is lifted over all others, whose scores stay as they are.
        builder.plus("phrase_match", candidates.phrase_match * (STEP * builder.scores.max(initial=0.0)))
        reached = reached | candidates.phrase_match
    if raw.is_derived.any():
        builder.plus("derived", derived_gains(builder.scores, raw))
    both = compared.get(LATE_INTERACTION), compared.get(CROSS_ENCODER)
    return Scoring(weighed, constants.fused_share, tuple(builder.steps), builder.scores, reached, *both)


def _weighed(
    candidates: Candidates,
    raw: CandidateSignals,
    route: Route,
    *,
    now: datetime,
    constants: Rank,
    project_code: int | None,
) -> Weighed:
    signals = _signals(candidates, raw, now=now, constants=constants)
    return Weighed(
        signals,
        _relevance(signals, raw.type_code, route, constants=constants),
        boost_factors(raw, constants.boosts, window=route.window, project_code=project_code),
    )


def _signals(
    candidates: Candidates, raw: CandidateSignals, *, now: datetime, constants: Rank
) -> dict[str, Signal]:
    if constants.method == "blend":
        fused, cosine = blended_signals(candidates, constants=constants.recipe)
    else:
        fused, cosine = signal(candidates.fused, flat=1.0), signal(candidates.cosine, flat=1.0)
    sim = blend(fused.normal, cosine.normal, constants.fused_share)
    return {
        "fused": fused,
        "cosine": cosine,
        "sim": Signal(sim, sim),
        "recency": signal(
            recency(raw.touched_at, now=now, per_hour=constants.recency_per_hour),
            # times less than an hour apart are equally recent: a bulk import has no order of its own
            least_span=1.0 - constants.recency_per_hour,
        ),
        "salience": signal(raw.salience),
        "confidence": signal(raw.confidence),
        "graph": signal(candidates.mass),
    }


def _relevance(
    signals: Mapping[str, Signal], type_code: NDArray[np.uint8], route: Route, *, constants: Rank
) -> Relevance:
    values = {name: signals[name].normal for name in WEIGHED}
    if constants.method == "blend":
        return Relevance("blend", values["sim"], {"sim": np.ones(len(values["sim"]))})
    if constants.method == "additive":
        weights = _weights(type_code, constants)
        return Relevance("additive", additive(values, weights), weights)
    graph_weight = (
        constants.graph_weight_multi_hop if Intent.MULTI_HOP in route.intents else constants.graph_weight
    )
    # Graph mass does not count if the graph was not walked or all candidates have equal mass.
    if not values["graph"].any():
        graph_weight = 0.0
    used = {
        "sim": np.full(len(type_code), 1.0 - graph_weight),
        "graph": np.full(len(type_code), graph_weight),
    }
    if constants.quality_weight == 0:
        similar: NDArray[np.float64] = blend(values["graph"], values["sim"], graph_weight)
        return Relevance("multiplicative", similar, used, graph_weight=graph_weight)
    weights = _weights(type_code, constants)
    scores = multiplicative(
        values, weights, graph_weight=graph_weight, quality_weight=constants.quality_weight
    )
    used |= {name: weights[name] for name in QUALITY}
    return Relevance(
        "multiplicative", scores, used, graph_weight=graph_weight, quality_weight=constants.quality_weight
    )


def recency(touched_at: NDArray[np.int64], *, now: datetime, per_hour: float) -> NDArray[np.float64]:
    """`per_hour` ** hours since `touched_at` (microseconds); 1 for what lies in the future."""
    hours = (microseconds(now) - touched_at.astype(np.float64)) / MICROSECONDS_PER_HOUR
    faded: NDArray[np.float64] = per_hour ** np.maximum(hours, 0.0)
    return faded


def additive(
    signals: dict[str, NDArray[np.float64]], weights: dict[str, NDArray[np.float64]]
) -> NDArray[np.float64]:
    """Sum of weight x signal; both by name, weights by candidate."""
    total: NDArray[np.float64] = weighted((weights[name], values) for name, values in signals.items())
    return total


def multiplicative(
    signals: dict[str, NDArray[np.float64]],
    weights: dict[str, NDArray[np.float64]],
    *,
    graph_weight: float,
    quality_weight: float,
) -> NDArray[np.float64]:
    """Relevance x (1 + quality_weight x quality): quality reorders near equals, lifts nothing irrelevant."""
    relevance = blend(signals["graph"], signals["sim"], graph_weight)
    whole = weighted((1.0, weights[name]) for name in QUALITY)
    # weights of 0 make a quality of 0
    whole = np.where(whole > 0, whole, 1.0)
    quality = weighted((weights[name], signals[name]) for name in QUALITY) / whole
    scores: NDArray[np.float64] = lifted(relevance, quality, quality_weight)
    return scores


def boost_factors(
    raw: CandidateSignals, factors: Boosts, *, window: Window | None, project_code: int | None
) -> dict[str, NDArray[np.float64]]:
    """The profile's boosts that are on and apply, by name, in the order in which they are multiplied."""
    found: dict[str, NDArray[np.float64]] = {}
    if factors.pinned:
        found["pinned"] = 1.0 + factors.pinned * raw.pinned.astype(np.float64)
    if factors.priority:
        found["priority"] = 1.0 + factors.priority * np.maximum(raw.priority - 1.0, 0.0)
    if factors.window and window is not None:
        worth = factors.window_alone if window.is_alone else factors.window
        found["window"] = 1.0 + worth * inside(raw, window).astype(np.float64)
    if factors.project and project_code is not None:
        own = (raw.project_code == project_code).astype(np.float64)
        found["project"] = 1.0 + factors.project * own
    return found


def inside(raw: CandidateSignals, window: Window) -> NDArray[np.bool_]:
    """Whether a memory happened in the window, or mentions a time that overlaps with it."""
    start, end = microseconds(window.start), microseconds(window.end)
    occurred = (raw.occurred_at >= start) & (raw.occurred_at < end)
    touches = touching(raw.event_start, raw.event_end, (window.start, window.end), window.zone)
    found: NDArray[np.bool_] = occurred | ((raw.event_start != NO_TIME) & touches)
    return found


def _weights(type_code: NDArray[np.uint8], constants: Rank) -> dict[str, NDArray[np.float64]]:
    """Weights of the signals by candidate, those of its memory type."""
    rows = [constants.weights_of(name) for name in MEMORY_TYPES]
    return {
        signal: np.array([getattr(row, signal) for row in rows], np.float64)[type_code] for signal in WEIGHED
    }
