"""A recall: the eight stages in their order. Read this file to know how an answer comes about.

All stages read one generation. A query that the router skips ends after stage 2.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from helix_query.recall.packing.fetch import fetch
from helix_query.recall.packing.profile_first import pack_with_profile
from helix_query.recall.result import RecallResult, Trace
from helix_query.recall.stages.abstain import abstain
from helix_query.recall.stages.diversify import diversify, without_already_served
from helix_query.recall.stages.embed import EmbeddedQuery, embed
from helix_query.recall.stages.expand import expand
from helix_query.recall.stages.fuse import fuse
from helix_query.recall.stages.rank import rank
from helix_query.recall.stages.rerank import rerank
from helix_query.recall.stages.retrieve import prefetch, retrieve
from helix_query.recall.stages.route import route_after_search, route_query
from helix_query.recall.stopwatch import Stopwatch

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from helix_query.recall.context import RecallContext


def recall(
    context: RecallContext,
    *,
    lanes: Mapping[str, Executor],
    channel_deadline_seconds: float,
    embedded: EmbeddedQuery | None = None,
) -> RecallResult:
    """Answer the query of `context`.

    `lanes` has an executor for each of `channels.LANES`, so that a stuck search keeps no other waiting.
    `embedded` is the query out of stage 1, for a caller who asks it several times.

    Raises:
        TemporaryError: no channel answered.
        OverdueError: the deadline of `context` passed.
    """
    stage = Stopwatch(context.deadline)
    with prefetch(context, lanes) as prefetched:
        with stage("embed"):
            embedded = embed(context) if embedded is None else embedded
            vector = embedded.vector
        with stage("route"):
            route = route_query(context, embedded.plain)
        if route.skip:
            return RecallResult(route, tuple(stage.seconds))
        context = context.of_route(route)
        with stage("retrieve"):
            retrieved = retrieve(context, embedded, route, lanes, channel_deadline_seconds, prefetched)
    with stage("fuse"):
        fused = fuse(context, retrieved, vector, route)
        route = route_after_search(context, fused, route)
    with stage("expand"):
        candidates = expand(context, fused, vector, route)
    with stage("rank"):
        candidates, ranked = rank(context, candidates, route)
    with stage("rerank"):
        candidates, ranked = rerank(context, candidates, ranked, embedded.tokens, route)
    with stage("diversify"):
        diverse = diversify(context, ranked, candidates, route)
        chosen, already_served = without_already_served(context, diverse, candidates)
    with stage("fetch"):
        rows = fetch(context, chosen, candidates)
    with stage("abstain"):
        estimate = abstain(context, rows, candidates, retrieved, route, diverse)
        abstained = estimate is not None and estimate.abstained
    with stage("pack"):
        packed, profile = pack_with_profile(context, () if abstained else rows, route)
    degraded = (*retrieved.degraded, *candidates.degraded)
    trace = None
    if context.query.explain:
        trace = Trace(
            route, retrieved, fused, candidates, ranked, diverse, chosen, rows, packed, abstained=abstained
        )
    return RecallResult(
        route, tuple(stage.seconds), rows, packed, degraded, already_served, estimate, profile, trace
    )
