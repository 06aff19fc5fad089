"""The task of one GetProfile call."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from helix_query.api.responses.profile import profile_response
from helix_query.recall.user_profile.build import user_profile

if TYPE_CHECKING:
    from collections.abc import Mapping
    from concurrent.futures import Executor

    from helix_memory.recall.v1 import recall_pb2
    from helix_query.api.requests import ProfileQuery
    from helix_query.generations.snapshot import Snapshot


def profile_reply(
    query: ProfileQuery,
    snapshot: Snapshot,
    _lanes: Mapping[str, Executor],
    *,
    budget: int,
    until: float,
) -> recall_pb2.GetProfileResponse:
    """The reply on one generation; `budget` holds where the request gives none.

    Raises:
        OverdueError: `until`, a moment of the monotonic clock, has passed.
    """
    found = user_profile(
        snapshot,
        query.selection,
        now=datetime.now(UTC),
        token_budget=query.token_budget or budget,
        zone=query.zone,
        deadline=until,
    )
    return profile_response(found, snapshot, min_sequence=query.min_sequence)
