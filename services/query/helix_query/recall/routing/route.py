"""Stage 2: the intents of a query, the time window it names, and whether it needs memory at all.

Intents found by rule and by example are added up. A query is skipped only if it clearly needs no memory.
The time window raises scores in stage 6; it never filters.
"""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING, Final

from helix_query.profile.past_question import PastQuestion
from helix_query.recall.candidates import Route, Window
from helix_query.recall.query_text import read_query
from helix_query.recall.routing.anchors import anchor_of, anchored_window
from helix_query.recall.routing.asked_person import asked_person
from helix_query.recall.routing.current_value import asks_whether
from helix_query.recall.routing.past.past_question import asks_for_former, past_of
from helix_query.recall.routing.rules import allows_intent, intents_by_rule, is_question
from helix_query.recall.routing.skip import skip_reason
from helix_query.recall.routing.strip_times import asks_for_time_alone
from helix_shared.naming import find_names, title_candidates
from helix_shared.timex import find_time_expressions, resolve_window

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime, tzinfo

    import numpy as np
    from numpy.typing import NDArray

    from helix_query.profile.intent import Intent
    from helix_query.recall.routing.anchors import EventLookup
    from helix_query.recall.routing.centroids import Centroids

    Bounds = tuple[datetime, datetime]

TITLE_CHARACTERS: Final = 240
"""Characters of a query in which every run of words is a candidate for a title."""


def route(
    query: str,
    vector: NDArray[np.float32],
    *,
    now: datetime,
    centroids: Centroids,
    may_skip: bool = True,
    centroid_margin: float = 0.1,
    look_up_event: EventLookup | None = None,
    intents_of: Callable[[str], tuple[Intent, ...]] = intents_by_rule,
    zone: tzinfo | None = None,
) -> Route:
    """Read the query, asked at `now`. Days begin at midnight of `zone`, UTC when absent.

    `look_up_event` finds the event that a query dates itself by ("before the migration"); without it
    such words make no window. `intents_of` returns the intents found by rule.
    """
    reason = _skip(query, now) if may_skip else ""
    if reason:
        return Route(skip=True, reason=reason)
    by_rule = intents_of(query)
    by_example = tuple(
        intent
        for intent in centroids.near(vector, margin=centroid_margin)
        if intent not in by_rule and allows_intent(intent, query)
    )
    bounds, window_reason = _window(query, now, zone, look_up_event)
    past, text = past_of(query), read_query(query)
    return Route(
        intents=by_rule + by_example,
        window=None if bounds is None else Window(*bounds, zone or UTC, asks_for_time_alone(query, now)),
        as_of_moment=_latest(bounds, now),
        reason=_reason(by_rule, by_example, window_reason, past),
        past_question=past,
        asked_person=asked_person(query),
        names_something=any(name.kind == "name" for name in find_names(text)),
        asks_for_former=past.asks_for_replaced and asks_for_former(query),
        asks_whether=past is PastQuestion.NO and asks_whether(text.lower()),
    )


def names_in(query: str) -> tuple[str, ...]:
    """Canonical names that the query may contain: those found, then runs of words that may be titles.

    Most of the cost of reading a query, so it is called only where names are needed. A single word is a
    candidate only if the query has no capitals at all; else titles such as "First" match most questions.
    """
    found = [name.name for name in find_names(query)]
    titles = title_candidates(query[:TITLE_CHARACTERS])
    if query != query.lower():
        titles = [title for title in titles if " " in title]
    return tuple(dict.fromkeys([*found, *titles]))


def _skip(query: str, now: datetime) -> str:
    return skip_reason(
        query,
        has_names=lambda text: bool(find_names(text)),
        has_time=lambda text: bool(find_time_expressions(text, now, limit=1)),
    )


def _window(
    query: str, now: datetime, zone: tzinfo | None, look_up_event: EventLookup | None
) -> tuple[Bounds | None, str]:
    """The window that the query names by date or by an event, and the reason to report."""
    bounds = resolve_window(query, now, zone=zone)
    if bounds is not None or look_up_event is None:
        return bounds, "" if bounds is None else "time window"
    anchor = anchor_of(query) if is_question(read_query(query)) else None
    if anchor is None:
        return None, ""
    bounds = anchored_window(anchor, look_up_event(anchor.phrase), now=now)
    found = "time window" if bounds is not None else "no memory dates it"
    return bounds, f"{found}: {anchor.relation} {anchor.phrase!r}"


def _latest(bounds: Bounds | None, now: datetime) -> datetime | None:
    """The end of the window, at most `now`; None if it begins later."""
    return None if bounds is None or bounds[0] > now else min(bounds[1], now)


def _reason(
    by_rule: tuple[Intent, ...], by_example: tuple[Intent, ...], window: str, past: PastQuestion
) -> str:
    parts = [f"rules: {', '.join(by_rule)}"] if by_rule else []
    parts += [f"examples: {', '.join(by_example)}"] if by_example else []
    parts += [window] if window else []
    parts += [f"earlier times: {past.name.lower()}"] if past.is_in_words else []
    return "; ".join(parts) or "nothing special"
