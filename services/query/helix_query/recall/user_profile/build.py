"""The profile of the caller, from one generation: a function of the memories the caller may recall."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING

from helix_query.recall.user_profile.layout import laid_out
from helix_query.recall.user_profile.lines import UserProfile
from helix_query.recall.user_profile.links import Links
from helix_query.recall.user_profile.merge import merged
from helix_query.recall.user_profile.statements import statements_of
from helix_query.recall.visibility import Visibility
from helix_query.scheduling.deadline import check

if TYPE_CHECKING:
    from datetime import datetime, tzinfo

    from helix_query.generations.snapshot import Snapshot
    from helix_shared.artifacts.filter.selection import Selection


def user_profile(
    snapshot: Snapshot,
    selection: Selection,
    *,
    now: datetime,
    token_budget: int,
    zone: tzinfo | None = None,
    deadline: float = math.inf,
) -> UserProfile:
    """The profile of the selection's user, at `now`, or its `as_of` and `valid_at`.

    Filters of the selection do not apply.

    Raises:
        OverdueError: `deadline`, a moment of the monotonic clock, has passed.
    """
    selection = selection.unfiltered()
    if selection.past:
        snapshot.prepare_as_of(deadline)
    check(deadline)
    visibility = Visibility.of(snapshot.generation, selection, now)
    moment = selection.past.happened_by or visibility.moment
    statements = statements_of(snapshot, visibility, moment)
    encoder, centroids = snapshot.encoder, snapshot.centroids

    @cache
    def is_place(name: str) -> bool:
        """Whether a name is surely that of a place: a run of the model for each name."""
        check(deadline)
        return centroids.is_place(encoder.embed_query(name))

    said = merged(statements, Links.of(snapshot.generation, statements), is_place)
    return laid_out(said, token_budget=token_budget, count_tokens=encoder.count_tokens, zone=zone)
