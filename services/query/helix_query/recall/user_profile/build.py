"""The profile of the caller, from one generation: a function of the memories the caller may recall."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING

from helix_query.recall.user_profile.layout import laid_out
from helix_query.recall.user_profile.links import Links
from helix_query.recall.user_profile.merge import merged
from helix_query.recall.user_profile.statements import chosen_of, statements_of
from helix_query.recall.visibility import Visibility
from helix_query.scheduling.deadline import raise_if_overdue

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime, tzinfo

    from helix_query.generations.snapshot import Snapshot
    from helix_query.recall.user_profile.lines import MergedStatement, UserProfile
    from helix_query.recall.user_profile.statements import PartMemories
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

    Filters of the selection do not apply. The snapshot keeps the profiles of late, except of past moments.

    Raises:
        OverdueError: `deadline`, a moment of the monotonic clock, has passed.
    """
    selection = selection.unfiltered()
    if selection.past:
        snapshot.prepare_as_of(deadline)
    raise_if_overdue(deadline)
    visibility = Visibility.of(snapshot.generation, selection, now)
    moment = selection.past.valid_at or visibility.moment
    chosen = chosen_of(snapshot, visibility, moment, deadline=deadline)
    # all that a profile of one generation depends on
    key = selection, chosen, token_budget, zone
    found = None if selection.past else snapshot.recent_profiles.get(key)
    if found is None:
        said = _said(snapshot, selection, chosen, deadline)
        count_tokens = snapshot.encoder.count_tokens
        found = laid_out(said, token_budget=token_budget, count_tokens=count_tokens, zone=zone)
        if not selection.past:
            snapshot.recent_profiles.put(key, found)
    return found


def _said(
    snapshot: Snapshot, selection: Selection, chosen: Iterable[PartMemories], deadline: float
) -> list[MergedStatement]:
    """What the chosen memories state, best first."""
    encoder, centroids = snapshot.encoder, snapshot.centroids

    @cache
    def is_place(name: str) -> bool:
        """Whether a name is surely that of a place: a run of the model for each name."""
        raise_if_overdue(deadline)
        return centroids.is_place(encoder.embed_query(name))

    statements = statements_of(snapshot, selection, chosen)
    return merged(statements, Links.of(snapshot.generation, statements, selection.past), is_place)
