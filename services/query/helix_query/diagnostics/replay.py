"""One recall with the step that dropped a memory, and the result of a search for changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from helix_memory.recall.v1 import recall_pb2
from helix_query.diagnostics.explanation import Explanation, Loss

if TYPE_CHECKING:
    from helix_query.profile.profile import RankingProfile
    from helix_query.recall.context import RecallContext
    from helix_query.recall.query import Query
    from helix_query.recall.result import RecallResult


@dataclass(frozen=True, slots=True)
class Replay:
    """One recall, and the row of the missing memory."""

    request: recall_pb2.RecallRequest
    context: RecallContext
    result: RecallResult
    kept_explanation: Explanation | None
    """None: the query was skipped."""
    row: Mapping[str, Any]

    @property
    def query(self) -> Query:
        """The query."""
        return self.context.query

    @property
    def profile(self) -> RankingProfile:
        """The ranking profile of the recall."""
        return self.context.profile

    @property
    def loss(self) -> Loss:
        """The first step that dropped the memory."""
        if self.result.route.skip:
            return Loss.SKIPPED
        if self.row.get("decayed_at") is not None:
            return Loss.DECAYED
        if self.query.selection.excluding(self.row):
            return Loss.FILTER
        position = self.position
        return Loss.NOT_RETRIEVED if position is None else Loss(self.explanation.losses[position])

    @property
    def position(self) -> int | None:
        """Position of the memory among the candidates."""
        explanation = self.kept_explanation
        return None if explanation is None else explanation.position_of(self.row["memory_id"])

    @property
    def explanation(self) -> Explanation:
        """The explanation of the recall, which was not skipped."""
        if self.kept_explanation is None:
            raise AssertionError("a skipped query has no explanation")
        return self.kept_explanation


@dataclass(frozen=True, slots=True)
class WhyNot:
    """The first replay, and the changes with which the last one packed the memory."""

    first: Replay
    changes: tuple[recall_pb2.Change, ...]
    replays: int
    exhausted: bool = False
    """Whether the search for changes ran out of time."""
