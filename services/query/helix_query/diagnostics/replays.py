"""Runs one query again with changes, to see which step drops one memory.

`why_not` calls it. Every replay is a complete recall on the same snapshot at the same moment, so it shows
what the caller would get.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from helix_memory.changes import changed
from helix_memory.recall.v1 import recall_pb2
from helix_query.diagnostics.explain import explain
from helix_query.diagnostics.replay import Replay
from helix_query.profile.overrides import with_constants
from helix_query.recall.context import RecallContext
from helix_query.recall.packing.memory import get_memory
from helix_query.recall.packing.rows import stored_rows
from helix_query.recall.stages.embed import EmbeddedQuery, embed
from helix_query.recall.stages.route import route_query
from helix_shared.errors import NotFoundError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from helix_query.generations.snapshot import Snapshot
    from helix_query.profile.profile import RankingProfile
    from helix_query.recall.query import Query
    from helix_query.recall.result import RecallResult

MAX_REPLAYS: Final = 48


@dataclass(slots=True)
class Replays:
    """Runs replays until a moment of the monotonic clock, at most `MAX_REPLAYS`."""

    snapshot: Snapshot
    profiles: Mapping[str, RankingProfile]
    parse: Callable[[recall_pb2.RecallRequest], Query]
    """Checks a request; every replay is at the same moment of the clock."""
    recall: Callable[..., RecallResult]
    """`helix_query.recall.recall.recall` with its lanes; takes a context and `embedded`."""
    until: float
    deadline: float = math.inf
    """Deadline of the call by the same clock: no wait of a replay goes past it."""
    runs: int = field(default=0, init=False)
    _embedded: dict[tuple[str, bool, str], EmbeddedQuery] = field(default_factory=dict, init=False)
    """Embedded queries by text, whether its tokens are compared, and adapter: made once for all replays."""

    @property
    def exhausted(self) -> bool:
        """Whether no time, or no replay, is left."""
        return self.runs > MAX_REPLAYS or time.monotonic() > self.until

    def visible_row(self, request: recall_pb2.RecallRequest, memory_id: str) -> Mapping[str, Any] | None:
        """The row of a memory that the recall of `request` could return without its filter; None: it cannot.

        Of one that a later memory replaced only where the question is about earlier times: for such a one it
        is a candidate as any other.

        Raises:
            InvalidInputError: the request breaks a limit.
            OverdueError: the deadline passed.
        """
        query = self.parse(request)
        scope = query.selection.unfiltered()
        with suppress(NotFoundError):
            return get_memory(memory_id, scope, self.snapshot, now=query.clock, deadline=self.deadline)[0]
        ordinals = self.snapshot.ordinals_of([memory_id])
        if not len(ordinals):
            return None
        context = RecallContext.of(
            replace(query, selection=scope),
            self.snapshot,
            self.profiles[query.profile],
            deadline=self.deadline,
        )
        context = context.of_route(route_query(context, self._embed(context).plain))
        rows = stored_rows(self.snapshot, ordinals, context.visibility)
        return next(filter(scope.admits, rows), None)

    def _embed(self, context: RecallContext) -> EmbeddedQuery:
        key = context.query.text, context.profile.rerank.candidates > 0, context.adapter.value.name
        if key not in self._embedded:
            self._embedded[key] = embed(context)
        return self._embedded[key]

    def ask(
        self,
        request: recall_pb2.RecallRequest,
        row: Mapping[str, Any],
        changes: Sequence[recall_pb2.Change] = (),
    ) -> Replay:
        """Recall the query of `request` with `changes`.

        Raises:
            InvalidInputError: the request, or what the changes make of it, breaks a limit.
            TemporaryError: no channel answered.
            OverdueError: the deadline passed.
        """
        asking, constants = changed(request, changes)
        asking.explain = True
        # the missing memory may be any of the candidates
        asking.ClearField("explained_candidates")
        query = self.parse(asking)
        profile = with_constants(self.profiles[query.profile], constants)
        self.runs += 1
        context = RecallContext.of(query, self.snapshot, profile, deadline=self.deadline)
        result = self.recall(context, embedded=self._embed(context))
        explanation = None if result.trace is None else explain(result.trace, context)
        return Replay(asking, context, result, explanation, row)
