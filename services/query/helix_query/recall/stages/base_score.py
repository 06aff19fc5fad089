"""Stage 6, the base score: relevance from the normalised signals, multiplied by boosts.

The ranking profile names the method of relevance: `additive` by memory type, `multiplicative`, or `blend` of
the published recipes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from helix_memory.arithmetic import blend, lifted, weighted
from helix_memory.explanation import QUALITY, WEIGHED
from helix_memory.vocabulary.memory_types import MEMORY_TYPES
from helix_query.profile.intent import Intent
from helix_query.recall.recipes.factors import blended_signals
from helix_query.recall.relevance import BaseScore, Relevance, Signal
from helix_query.recall.stages.normalise import normalised_signal
from helix_shared.artifacts.signals.columns import NO_TIME
from helix_shared.calendar_days import touching
from helix_shared.moments import microseconds

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from numpy.typing import NDArray

    from helix_query.profile.sections.ranking import Boosts, Rank
    from helix_query.recall.candidate_signals import CandidateSignals
    from helix_query.recall.candidates import Candidates, Route, Window

MICROSECONDS_PER_HOUR: Final = 3_600_000_000


def base_score(
    candidates: Candidates,
    raw: CandidateSignals,
    route: Route,
    *,
    now: datetime,
    constants: Rank,
    project_code: int | None,
) -> BaseScore:
    """The signals of the candidates, their relevance by the profile's method, and the boosts that apply."""
    signals = _signals(candidates, raw, now=now, constants=constants)
    return BaseScore(
        signals,
        _relevance(signals, raw.type_code, route, constants=constants),
        boost_factors(raw, route, constants.boosts, project_code=project_code),
    )


def _signals(
    candidates: Candidates, raw: CandidateSignals, *, now: datetime, constants: Rank
) -> dict[str, Signal]:
    if constants.method == "blend":
        fused, cosine = blended_signals(candidates, constants=constants.recipe)
    else:
        fused, cosine = (
            normalised_signal(candidates.fused, flat=1.0),
            normalised_signal(candidates.cosine, flat=1.0),
        )
    sim = blend(fused.normal, cosine.normal, constants.fused_share)
    return {
        "fused": fused,
        "cosine": cosine,
        "sim": Signal(sim, sim),
        "recency": normalised_signal(
            recency(raw.touched_at, now=now, per_hour=constants.recency_per_hour),
            # times less than an hour apart are equally recent: a bulk import has no order of its own
            least_span=1.0 - constants.recency_per_hour,
        ),
        "salience": normalised_signal(raw.salience),
        "confidence": normalised_signal(raw.confidence),
        "graph": normalised_signal(candidates.mass),
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
    raw: CandidateSignals, route: Route, factors: Boosts, *, project_code: int | None
) -> dict[str, NDArray[np.float64]]:
    """The profile's boosts that are on and apply, by name, in the order in which they are multiplied."""
    found: dict[str, NDArray[np.float64]] = {}
    window = route.window
    if factors.dated and Intent.WHEN in route.intents:
        found["dated"] = 1.0 + factors.dated * (raw.event_start != NO_TIME).astype(np.float64)
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
