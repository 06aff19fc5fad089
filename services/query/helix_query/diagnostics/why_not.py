"""Why a memory is not in an answer, and a smallest change of the request that brings it in.

The query is run, and `proposals` lists changes that may undo the loss. Each is tried on the same snapshot and
kept if the memory gets further, until it is packed, so the advised changes are known to work.

`why_not` is a generator that yields before every replay but the first, so that other calls can run between.
`api.responses.why_not` writes the verdict.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeVar

from helix_memory.recall.v1 import recall_pb2
from helix_query.diagnostics.explanation import Loss
from helix_query.diagnostics.proposals import proposals
from helix_query.diagnostics.replay import WhyNot
from helix_shared.errors import InvalidInputError, NotFoundError

if TYPE_CHECKING:
    from typing import Any

    from helix_query.diagnostics.replay import Replay
    from helix_query.diagnostics.replays import Replays

Changes = tuple[recall_pb2.Change, ...]
T = TypeVar("T")
Steps = Generator[None, None, T]
"""Yields before every replay; returns the result."""

PROGRESS: Final[Mapping[Loss, int]] = {
    loss: number
    for number, loss in enumerate(
        (
            Loss.SKIPPED,
            Loss.DECAYED,
            Loss.FILTER,
            Loss.NOT_RETRIEVED,
            Loss.THRESHOLD,
            Loss.SAME_TURN,
            Loss.NOT_AMONG_BEST,
            Loss.RESTATEMENT,
            Loss.NEAR_DUPLICATE,
            Loss.TOP_K,
            Loss.ALREADY_SERVED,
            Loss.ABSTAINED,
            Loss.TOKEN_BUDGET,
            Loss.QUOTED,
            Loss.NONE,
        )
    )
}
"""Order of the losses along the stages; a greater number is a later loss."""


def why_not(request: recall_pb2.RecallRequest, memory_id: str, replays: Replays) -> Steps[WhyNot]:
    """Run the query of `request` and search for changes; each step runs it once.

    Raises:
        NotFoundError: the caller may not see such a memory at that moment.
        InvalidInputError: the request breaks a limit.
        TemporaryError: no channel answered.
        OverdueError: the deadline of the call passed.
    """
    row = replays.visible_row(request, memory_id)
    if row is None:
        raise NotFoundError(f"no memory {memory_id} is visible to this scope")
    first = replays.ask(request, row)
    found = yield from _search(request, first, (), replays)
    exhausted = found is None and replays.exhausted
    changes: Changes = ()
    if found is not None:
        changes = yield from _only_necessary(request, row, found, replays)
    for change in changes:
        changes = yield from _lowered(request, first, changes, change, replays)
    # lower numbers may have made another change unnecessary
    changes = yield from _only_necessary(request, row, changes, replays)
    return WhyNot(first, changes, replays.runs - 1, exhausted)


def _search(
    request: recall_pb2.RecallRequest, replay: Replay, changes: Changes, replays: Replays
) -> Steps[Changes | None]:
    """Changes in addition to `changes` that bring the memory in, by depth-first search; None: none found."""
    if replay.loss is Loss.NONE:
        return changes
    for proposal in proposals(replay):
        if replays.exhausted:
            return None
        more = merged(changes, proposal)
        better = yield from _replayed(request, replay.row, more, replays)
        if better is None or _progress_of(better) <= _progress_of(replay):
            continue
        found = yield from _search(request, better, more, replays)
        if found is not None:
            return found
    return None


def _replayed(
    request: recall_pb2.RecallRequest, row: Mapping[str, Any], changes: Changes, replays: Replays
) -> Steps[Replay | None]:
    """The replay with changes; None if they break a limit."""
    yield
    try:
        return replays.ask(request, row, changes)
    except InvalidInputError:
        return None


def _progress_of(replay: Replay) -> tuple[int, int]:
    """How far the memory got: the stage, then its position by score."""
    loss, position = replay.loss, replay.position
    if position is None:
        return PROGRESS[loss], 0
    return PROGRESS[loss], -int(replay.explanation.places[position])


def _only_necessary(
    request: recall_pb2.RecallRequest, row: Mapping[str, Any], changes: Changes, replays: Replays
) -> Steps[Changes]:
    """`changes` without those that the memory does not need to be packed."""
    for change in changes if len(changes) > 1 else ():
        fewer = tuple(one for one in changes if one is not change)
        if replays.exhausted:
            break
        replay = yield from _replayed(request, row, fewer, replays)
        if replay is not None and replay.loss is Loss.NONE:
            changes = fewer
    return changes


def _lowered(
    request: recall_pb2.RecallRequest,
    first: Replay,
    changes: Changes,
    change: recall_pb2.Change,
    replays: Replays,
) -> Steps[Changes]:
    """`changes` with the lowest sufficient number in `change`: one less is tried first, then bisection."""
    high, step = json.loads(change.value), 1
    low = {"top_k": first.context.top_k, "token_budget": first.context.token_budget}.get(
        change.request_field, json.loads(change.was)
    )
    if type(high) is not int or type(low) is not int:
        return changes
    while high - low > 1 and not replays.exhausted:
        tried = high - step
        lower = recall_pb2.Change()
        lower.CopyFrom(change)
        lower.value = json.dumps(tried)
        fewer = merged(changes, (lower,))
        replay = yield from _replayed(request, first.row, fewer, replays)
        if replay is not None and replay.loss is Loss.NONE:
            changes, high = fewer, tried
        elif step == 1:
            break
        else:
            low = tried
        step = max((high - low) // 2, 1)
    return changes


def merged(changes: Sequence[recall_pb2.Change], more: Sequence[recall_pb2.Change]) -> Changes:
    """Both; for the same field or constant the later value, with the original `was`."""
    by_key = {(one.request_field, one.profile_key): one for one in changes}
    for one in more:
        key = (one.request_field, one.profile_key)
        was = by_key[key].was if key in by_key else one.was
        by_key[key] = recall_pb2.Change(
            request_field=one.request_field, profile_key=one.profile_key, value=one.value, was=was
        )
    return tuple(by_key.values())
