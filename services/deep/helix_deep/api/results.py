"""Fills the result of a deep recall; values are copied, nothing is decided here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from helix_memory.deep.v1 import deep_pb2
from helix_memory.recall.v1 import recall_pb2

if TYPE_CHECKING:
    from helix_deep.deep_recall import Outcome
    from helix_deep.progress import Progress
    from helix_deep.questions.limits import Budget


def result_of(
    outcome: Outcome, progress: Progress, budget: Budget, *, model: str, milliseconds: float
) -> deep_pb2.DeepRecallResult:
    """The last event of a call."""
    recall = recall_pb2.RecallResponse()
    recall.CopyFrom(outcome.plain)
    if outcome.packed is not None:
        recall.context.CopyFrom(outcome.packed.context)
    if outcome.placed:
        _fill(recall, outcome)
    return deep_pb2.DeepRecallResult(
        recall=recall,
        stages=progress.ended,
        left_out=progress.left_out,
        is_deep=bool(outcome.placed),
        model=model,
        prompt_tokens=budget.prompt_tokens,
        completion_tokens=budget.completion_tokens,
        total_milliseconds=milliseconds,
        scores=_scores(outcome, recall),
    )


def _fill(recall: recall_pb2.RecallResponse, outcome: Outcome) -> None:
    """Replace the memories by those of the outcome that the query service still shows."""
    packed = outcome.packed
    visible = None if packed is None else set(packed.memory_ids)
    in_context = set(recall.context.memory_ids)
    del recall.memories[:]
    for placed in outcome.placed:
        if visible is not None and placed.memory_id not in visible:
            continue
        one = recall.memories.add()
        one.CopyFrom(outcome.found.memory(placed.memory_id))
        one.rank, one.score = len(recall.memories), placed.score
        one.packed = placed.memory_id in in_context
    recall.degraded[:] = list(outcome.found.degraded)
    if outcome.is_named:
        recall.abstained, recall.abstained_because = False, ""


def _scores(outcome: Outcome, recall: recall_pb2.RecallResponse) -> list[deep_pb2.DeepScore]:
    """One for each memory of the result."""
    ranks = {one.memory.memory_id: one.rank for one in outcome.plain.memories}
    shown = {one.memory.memory_id for one in recall.memories}
    return [
        deep_pb2.DeepScore(
            memory_id=placed.memory_id,
            plain_rank=ranks.get(placed.memory_id, 0),
            lists=placed.fused.lists,
            fused=placed.fused.score,
            model_rank=placed.model_rank,
            score=placed.score,
            kept=placed.is_kept,
        )
        for placed in outcome.placed
        if placed.memory_id in shown
    ]
