"""Stage 2: what kind of query it is, what time it names, and whether it needs memory at all."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from helix_query.recall.candidates import Route
from helix_query.recall.routing.event_lookup import look_up_event
from helix_query.recall.routing.route import route

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from helix_query.recall.context import RecallContext


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
