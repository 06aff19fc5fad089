"""One question asked again and again with changes, and where each time one memory was lost.

`why_not` drives it. Every attempt is a whole recall on the same generation at the same moment, so what
an attempt says is what the caller would get.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from helix_memory.changes import changed
from helix_memory.recall.v1 import recall_pb2
from helix_query.diagnostics.explain import Explanation, Loss
from helix_query.profile.overrides import with_constants
from helix_query.profile.profile import RankingProfile
from helix_query.recall.recall import recall
from helix_query.recall.stages.embed import embed

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from helix_query.generations.snapshot import Snapshot
    from helix_query.recall.query import Query, RecallResult

MOST_REPLAYS: Final = 48


@dataclass(frozen=True, slots=True)
class Replay:
    """One recall, and the memory that is missed in it."""

    request: recall_pb2.RecallRequest
    query: Query
    profile: RankingProfile
    answer: RecallResult
    row: Mapping[str, Any]

    @property
    def loss(self) -> Loss:
        """Where the memory was lost first."""
        if self.answer.route.skip:
            return Loss.SKIPPED
        if self.query.selection.excluding(self.row):
            return Loss.FILTER
        position = self.position
        return Loss.NOT_RETRIEVED if position is None else Loss(self.explanation.losses[position])

    @property
    def position(self) -> int | None:
        """Of the memory in the pool."""
        explanation = self.answer.explanation
        return None if explanation is None else explanation.position_of(self.row["memory_id"])

    @property
    def explanation(self) -> Explanation:
        """Of an attempt that was not skipped."""
        if self.answer.explanation is None:
            raise AssertionError("a skipped question has no explanation")
        return self.answer.explanation

    @property
    def top_k(self) -> int:
        """Memories asked for."""
        return self.query.top_k or self.profile.top_k

    @property
    def token_budget(self) -> int:
        """Tokens of the packed context."""
        return self.query.token_budget or self.profile.token_budget


@dataclass(slots=True)
class Replays:
    """Asks; stops at a moment of the monotonic clock, or after so many attempts."""

    snapshot: Snapshot
    profiles: Mapping[str, RankingProfile]
    lanes: Mapping[str, Executor]
    channel_deadline_seconds: float
    parse: Callable[[recall_pb2.RecallRequest], Query]
    """Checks a request; every replay is at the same moment of the clock."""
    until: float
    deadline: float = math.inf
    """Of the call, of the same clock: no wait of an attempt goes past it."""
    asked: int = field(default=0, init=False)
    _vectors: dict[str, NDArray[np.float32]] = field(default_factory=dict, init=False)
    """By question: embedded once for all attempts, and forgotten with them."""

    @property
    def exhausted(self) -> bool:
        """Whether there is no time, or no attempt, left."""
        return self.asked > MOST_REPLAYS or time.monotonic() > self.until

    def ask(
        self,
        request: recall_pb2.RecallRequest,
        row: Mapping[str, Any],
        changes: Sequence[recall_pb2.Change] = (),
    ) -> Replay:
        """The question of `request` with `changes`.

        Raises:
            InvalidInputError: the request, or what the changes make of it, breaks a limit.
            TemporaryError: no channel answered.
        """
        asking, constants = changed(request, changes)
        asking.explain = True
        query = self.parse(asking)
        profile = with_constants(self.profiles[query.profile], constants)
        self.asked += 1
        if query.query not in self._vectors:
            self._vectors[query.query] = embed(query.query, encoder=self.snapshot.encoder)
        answer = recall(
            query,
            self.snapshot,
            vector=self._vectors[query.query],
            profile=profile,
            lanes=self.lanes,
            channel_deadline_seconds=self.channel_deadline_seconds,
            until=self.deadline,
        )
        return Replay(asking, query, profile, answer, row)
