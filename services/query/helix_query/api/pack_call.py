"""The task of one Pack call: packs memories in the order of the caller, otherwise as in a recall."""

from __future__ import annotations

from typing import TYPE_CHECKING

from helix_memory.recall.v1 import recall_pb2
from helix_query.api.responses.recall import context_message
from helix_query.recall.context import RecallContext
from helix_query.recall.packing.fetch import fetch_by_id
from helix_query.recall.packing.profile_first import pack_with_profile
from helix_query.recall.stages.embed import embed
from helix_query.recall.stages.route import route_query
from helix_query.scheduling.deadline import raise_if_overdue

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from concurrent.futures import Executor

    from helix_query.generations.snapshot import Snapshot
    from helix_query.profile.profile import RankingProfile
    from helix_query.recall.query import Query


def pack_reply(
    query: Query,
    memory_ids: Sequence[str],
    snapshot: Snapshot,
    _lanes: Mapping[str, Executor],
    *,
    profiles: Mapping[str, RankingProfile],
    until: float,
) -> recall_pb2.PackResponse:
    """The reply on one generation. The query is routed, because a route may open earlier times.

    Raises:
        OverdueError: `until`, a moment of the monotonic clock, has passed.
    """
    raise_if_overdue(until)
    if query.selection.past:
        snapshot.prepare_as_of(until)
    context = RecallContext.of(query, snapshot, profiles[query.profile], deadline=until)
    route = route_query(context, embed(context).plain)
    context = context.of_route(route)
    rows = fetch_by_id(context, memory_ids)
    packed, _ = pack_with_profile(context, rows, route)
    return recall_pb2.PackResponse(
        context=context_message(packed),
        memory_ids=[found.row["memory_id"] for found in rows],
        generation=snapshot.number,
        stale=snapshot.is_stale(query.min_sequence),
    )
