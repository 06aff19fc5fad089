"""Stage 2: what kind of question it is, what time it speaks of, and whether it needs memory at all.

Rules read the words, centroids the meaning; both only add intents. Skipping is conservative: it is
cheap to look and costly to miss. The time window is a preference of stage 6, never a filter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from helix_query.pool import Route, Window
from helix_query.routing.rules import intents_by_rule
from helix_query.routing.skip import skip_reason
from helix_shared.naming import find_names, title_candidates
from helix_shared.timex import find_time_expressions, resolve_window

if TYPE_CHECKING:
    from datetime import datetime

    import numpy as np
    from numpy.typing import NDArray

    from helix_query.routing.centroids import Centroids


def route(
    query: str,
    vector: NDArray[np.float32],
    *,
    now: datetime,
    centroids: Centroids,
    may_skip: bool = True,
    centroid_margin: float = 0.1,
) -> Route:
    """Read the query; `now` is the moment it is asked, for "last week"."""
    reason = _skip(query, now) if may_skip else ""
    if reason:
        return Route(skip=True, reason=reason)
    by_rule = intents_by_rule(query)
    by_example = tuple(
        intent for intent in centroids.near(vector, margin=centroid_margin) if intent not in by_rule
    )
    bounds = resolve_window(query, now)
    return Route(
        intents=by_rule + by_example,
        window=None if bounds is None else Window(*bounds),
        names=names_in(query),
        reason=_explained(by_rule, by_example, timed=bounds is not None),
    )


def names_in(query: str) -> tuple[str, ...]:
    """Canonical names the query may speak of: those found, then stretches that may be titles.

    A single word counts only when it is written as a name, unless the query has no capitals at all:
    titles such as "Director" or "First" would otherwise draw half of every question to themselves.
    """
    found = [name.name for name in find_names(query)]
    titles = title_candidates(query)
    if query != query.lower():
        titles = [title for title in titles if " " in title]
    return tuple(dict.fromkeys([*found, *titles]))


def _skip(query: str, now: datetime) -> str:
    return skip_reason(
        query,
        has_names=lambda text: bool(find_names(text)),
        has_time=lambda text: bool(find_time_expressions(text, now, limit=1)),
    )


def _explained(by_rule: tuple[str, ...], by_example: tuple[str, ...], *, timed: bool) -> str:
    parts = [f"rules: {', '.join(by_rule)}"] if by_rule else []
    parts += [f"examples: {', '.join(by_example)}"] if by_example else []
    parts += ["time window"] if timed else []
    return "; ".join(parts) or "nothing special"
