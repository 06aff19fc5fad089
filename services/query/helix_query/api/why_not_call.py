"""One WhyNot call in steps: each runs the query once, and other calls run between them."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field
from datetime import UTC
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from helix_memory.recall.v1 import recall_pb2
from helix_query.api.responses.why_not import hidden_response, why_not_response
from helix_query.diagnostics.explanation import Loss
from helix_query.diagnostics.hidden_memory import Hidden, hidden_memory
from helix_query.diagnostics.replays import Replays
from helix_query.diagnostics.why_not import Steps, why_not
from helix_query.profile.profile import RankingProfile
from helix_query.recall.recall import recall
from helix_query.scheduling.fair_executor import RUN_AGAIN

if TYPE_CHECKING:
    from helix_query.generations.snapshot import Snapshot
    from helix_query.recall.query import Query

SEARCHING: Final = 0.6
"""Share of the time left in which changes are tried."""


@dataclass(slots=True)
class WhyNotSearch:
    """Work of the fair executor.

    `until` is the deadline, a moment of the monotonic clock; changes are tried for a share of what the first
    step has left of it.
    """

    request: recall_pb2.WhyNotRequest
    profiles: Mapping[str, RankingProfile]
    channel_deadline_seconds: float
    parse: Callable[[recall_pb2.RecallRequest], Query]
    until: float
    _is_stopped: bool = field(default=False, init=False)
    _steps: Steps[recall_pb2.WhyNotResponse] | None = field(default=None, init=False)
    _replays: Replays | None = field(default=None, init=False)

    def step(self, snapshot: Snapshot, lanes: Mapping[str, Executor]) -> Any:
        """Run one step; the reply, or `RUN_AGAIN`. All steps are on one snapshot."""
        if self._steps is None:
            now = time.monotonic()
            self._replays = Replays(
                snapshot,
                self.profiles,
                parse=self.parse,
                recall=partial(recall, lanes=lanes, channel_deadline_seconds=self.channel_deadline_seconds),
                until=now + SEARCHING * (self.until - now),
                deadline=self.until,
            )
            if self._is_stopped:  # meanwhile, on another thread
                self.stop()
            self._steps = _steps(self.request, self._replays, snapshot)
        try:
            next(self._steps)
        except StopIteration as end:
            return end.value
        return RUN_AGAIN

    def stop(self) -> None:
        """Try no more changes."""
        self._is_stopped = True
        if self._replays is not None:
            self._replays.until = -math.inf


def _steps(
    request: recall_pb2.WhyNotRequest, replays: Replays, snapshot: Snapshot
) -> Steps[recall_pb2.WhyNotResponse]:
    query = replays.parse(request.recall)
    hidden = hidden_memory(request.memory_id, query.selection, snapshot, now=query.clock)
    if hidden is not None and not _is_asked_for(hidden, request, replays):
        reply = hidden_response(hidden, request.memory_id, snapshot, query.zone or UTC)
    else:
        found = yield from why_not(request.recall, request.memory_id, replays)
        reply = why_not_response(found, snapshot)
    reply.stale = snapshot.is_stale(query.min_sequence)
    return reply


def _is_asked_for(hidden: Hidden, request: recall_pb2.WhyNotRequest, replays: Replays) -> bool:
    """Whether the question is about earlier times, so that it can return what was replaced since."""
    is_replaced = hidden.loss is Loss.REPLACED
    return is_replaced and replays.visible_row(request.recall, request.memory_id) is not None
