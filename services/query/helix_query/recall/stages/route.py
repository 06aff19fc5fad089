"""Stage 2: what kind of query it is, what time it names, and whether it needs memory at all."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from helix_query.profile.intent import Intent
from helix_query.recall.candidates import Route
from helix_query.recall.routing.event_lookup import look_up_event
from helix_query.recall.routing.route import route
from helix_query.recall.routing.rules import chains_relations

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helix_query.recall.candidates import Candidates
    from helix_query.recall.context import RecallContext

CHECKED_CANDIDATES: Final = 20
"""First candidates that tell whether a question is about conversations."""


def route_query(context: RecallContext, vector: NDArray[np.float32]) -> Route:
    """Stage 2, at the caller's moment; a profile without routing treats all queries alike."""
    query, constants = context.query, context.profile.route
    if not constants.enabled:
        return Route(reason="routing is off")
    look_up = partial(
        look_up_event,
        visibility=context.visibility,
        lexicon=context.generation.lexicon,
        now=query.now,
        zone=query.zone,
    )
    return route(
        query.text,
        vector,
        now=query.now,
        zone=query.zone,
        centroids=context.snapshot.centroids,
        may_skip=not query.never_skip,
        centroid_margin=constants.centroid_margin,
        look_up_event=look_up if constants.event_lookup else None,
        intents_of=lambda _: context.rule_intents.value,
    )


def route_after_search(context: RecallContext, candidates: Candidates, route: Route) -> Route:
    """The route without `multi_hop` if more than `most_turns` of the first candidates are turns.

    Documents about named things are linked by these names. Turns of sessions are all linked by their speakers
    and the people they know, so among them the order by graph mass is worse than the order by relevance. A
    question for a relation of a relation keeps its hops.
    """
    if Intent.MULTI_HOP not in route.intents or not len(candidates):
        return route
    first = candidates.ordinals[np.argsort(-candidates.fused, kind="stable")[:CHECKED_CANDIDATES]]
    is_turn = context.generation.signals.session_code[first] != 0
    if is_turn.mean() <= context.profile.route.most_turns or chains_relations(context.query.text):
        return route
    intents = tuple(intent for intent in route.intents if intent is not Intent.MULTI_HOP)
    return replace(route, intents=intents, reason=f"{route.reason}; found turns: one hop")
