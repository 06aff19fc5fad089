"""Stage 6: the final score of every candidate, from what it says, what it is worth and where it stands.

All signals are min-max normalised over the pool. Two forms, named by the ranking profile: the
additive blend by memory type, and relevance x (1 + small x quality). Stage 7 diversifies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from helix_query.pool import Pool, Ranked, Route, Traits, Window
from helix_shared.artifacts.signals import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from numpy.typing import NDArray

    from helix_query.profile import Boosts, Rank

MICROSECONDS_PER_HOUR: Final = 3_600_000_000
MICROSECONDS: Final = 1_000_000


def rank(
    pool: Pool,
    traits: Traits,
    route: Route,
    *,
    now: datetime,
    constants: Rank,
    type_names: Sequence[str],
    project_code: int | None = None,
) -> Ranked:
    """The whole pool, best first; equal scores by ordinal.

    `type_names[code]` is the type of a `Traits.type_code`; `project_code` is the caller's project.
    """
    signals = {
        "sim": _blend(
            normalise(pool.fused, flat=1.0), normalise(pool.cosine, flat=1.0), constants.fused_share
        ),
        "recency": normalise(
            recency(traits.touched_at, now=now, per_hour=constants.recency_per_hour),
            # what is less than an hour apart is equally recent: a bulk import has no order of its own
            least_span=1.0 - constants.recency_per_hour,
        ),
        "salience": normalise(traits.salience),
        "confidence": normalise(traits.confidence),
        "graph": normalise(pool.mass),
    }
    weights = _weights(traits.type_code, constants, type_names)
    if constants.form == "additive":
        scores = additive(signals, weights)
    else:
        lead = constants.graph_lead if "multi_hop" in route.intents else constants.graph_quiet
        # A graph that was not walked, or tells nobody apart, must not lead.
        lead = lead if signals["graph"].any() else 0.0
        scores = multiplicative(signals, weights, graph_share=lead, strength=constants.strength)
    scores = scores * boosts(traits, constants.boosts, window=route.window, project_code=project_code)
    if "current_value" in route.intents:
        scores = scores * later_first(
            scores, traits.occurred_at, similar=constants.current_similar, strength=constants.current_strength
        )
    order = np.lexsort((pool.ordinals, -scores))
    return Ranked(order.astype(np.int64), scores[order])


def normalise(
    values: NDArray[np.floating], *, flat: float = 0.0, least_span: float = 0.0
) -> NDArray[np.float64]:
    """Min-max over the pool, 0 to 1.

    A signal that differs by no more than `least_span` is the same for all and becomes `flat` (0: it says
    nothing).
    """
    exact = values.astype(np.float64)
    span = float(np.ptp(exact)) if len(exact) else 0.0
    return (exact - exact.min()) / span if span > least_span else np.full(len(exact), flat)


def recency(touched_at: NDArray[np.int64], *, now: datetime, per_hour: float) -> NDArray[np.float64]:
    """`per_hour` ** hours since `touched_at` (microseconds); 1 for what lies in the future."""
    hours = (_microseconds(now) - touched_at.astype(np.float64)) / MICROSECONDS_PER_HOUR
    faded: NDArray[np.float64] = per_hour ** np.maximum(hours, 0.0)
    return faded


def additive(
    signals: dict[str, NDArray[np.float64]], weights: dict[str, NDArray[np.float64]]
) -> NDArray[np.float64]:
    """Sum of weight x signal; both by name, weights by candidate."""
    total: NDArray[np.float64] = np.sum([weights[name] * values for name, values in signals.items()], axis=0)
    return total


def multiplicative(
    signals: dict[str, NDArray[np.float64]],
    weights: dict[str, NDArray[np.float64]],
    *,
    graph_share: float,
    strength: float,
) -> NDArray[np.float64]:
    """Relevance x (1 + strength x quality): quality reorders neighbours, it never lifts junk."""
    relevance = _blend(signals["graph"], signals["sim"], graph_share)
    names = ("recency", "salience", "confidence")
    whole = np.sum([weights[name] for name in names], axis=0)
    quality = np.sum([weights[name] * signals[name] for name in names], axis=0)
    quality = np.divide(quality, whole, out=np.zeros_like(quality), where=whole > 0)
    scores: NDArray[np.float64] = relevance * (1.0 + strength * quality)
    return scores


def boosts(
    traits: Traits, factors: Boosts, *, window: Window | None, project_code: int | None
) -> NDArray[np.float64]:
    """Product of the profile's boosts, by candidate."""
    product: NDArray[np.float64] = 1.0 + factors.pinned * traits.pinned.astype(np.float64)
    product = product * (1.0 + factors.priority * np.maximum(traits.priority - 1.0, 0.0))
    if window is not None:
        product = product * (1.0 + factors.window * inside(traits, window))
    if project_code is not None:
        product = product * (1.0 + factors.project * (traits.project_code == project_code))
    return product


def inside(traits: Traits, window: Window) -> NDArray[np.bool_]:
    """Whether a memory happened in the window, or speaks of something that touches it."""
    start, end = _microseconds(window.start), _microseconds(window.end)
    occurred = (traits.occurred_at >= start) & (traits.occurred_at < end)
    last = np.where(traits.event_end == NO_TIME, traits.event_start, traits.event_end)
    spoken_of = (traits.event_start != NO_TIME) & (traits.event_start < end) & (last >= start)
    touching: NDArray[np.bool_] = occurred | spoken_of
    return touching


def later_first(
    scores: NDArray[np.float64], occurred_at: NDArray[np.int64], *, similar: float, strength: float
) -> NDArray[np.float64]:
    """Factor 1 to 1 + `strength` by time among those within `similar` of the best score, else 1.

    The question is for what holds now: of statements about as relevant the latest wins.
    """
    factors = np.ones(len(scores))
    if not len(scores):
        return factors
    alike = np.flatnonzero(scores >= similar * scores.max())
    times, places = np.unique(occurred_at[alike], return_inverse=True)
    if len(times) > 1:
        factors[alike] += strength * places / (len(times) - 1)
    return factors


def _blend(first: NDArray[np.float64], second: NDArray[np.float64], share: float) -> NDArray[np.float64]:
    return share * first + (1.0 - share) * second


def _weights(
    type_code: NDArray[np.uint8], constants: Rank, type_names: Sequence[str]
) -> dict[str, NDArray[np.float64]]:
    rows = [constants.weights[name].model_dump() for name in type_names if name in constants.weights]
    by_name = {
        signal: np.array([row[signal] for row in rows], np.float64) for row in rows[:1] for signal in row
    }
    return {signal: column[type_code] for signal, column in by_name.items()}


def _microseconds(moment: datetime) -> float:
    return moment.timestamp() * MICROSECONDS
