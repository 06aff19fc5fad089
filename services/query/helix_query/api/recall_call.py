"""One recall: eight stages on one generation, and the reply."""

from __future__ import annotations

import time
from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from helix_query.api.responses.recall import recall_response
from helix_query.diagnostics.explain import explained
from helix_query.metrics import RECALL_SECONDS
from helix_query.recall.context import RecallContext
from helix_query.recall.recall import recall

if TYPE_CHECKING:
    from helix_memory.recall.v1 import recall_pb2
    from helix_query.generations.snapshot import Snapshot
    from helix_query.profile.profile import RankingProfile
    from helix_query.recall.query import Query

WAIT: Final = "wait"
"""Name of the stage in which a recall waits for its event."""


def recall_reply(
    query: Query,
    snapshot: Snapshot,
    lanes: Mapping[str, Executor],
    *,
    profiles: Mapping[str, RankingProfile],
    channel_deadline_seconds: float,
    until: float,
    waited_seconds: float,
) -> recall_pb2.RecallResponse:
    """Memories that answer `query`, by `until`, a moment of the monotonic clock.

    Raises:
        OverdueError: `until` has passed.
    """
    started = time.perf_counter()
    context = RecallContext.of(query, snapshot, profiles[query.profile], deadline=until)
    result = recall(context, lanes=lanes, channel_deadline_seconds=channel_deadline_seconds)
    result, explanation = explained(result, context)
    elapsed = time.perf_counter() - started
    RECALL_SECONDS.observe(elapsed)
    if waited_seconds:
        result = replace(result, seconds=((WAIT, waited_seconds), *result.seconds))
    total_seconds = waited_seconds + elapsed
    return recall_response(result, query, snapshot, total_seconds=total_seconds, explanation=explanation)
