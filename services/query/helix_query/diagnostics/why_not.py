"""Why a memory is not in an answer, and a smallest change of the question that brings it in.

Every asking is a step of its own: `why_not` is a generator that yields before each but the first, so that who
drives it can let other calls have their turn in between.

The question is asked; `proposals` names what may undo the loss; each is tried on the same generation and
kept if the memory gets further, until it is packed. What is advised has therefore been seen to work.
`why_not_reply` says it in words.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeVar

from helix_memory.recall.v1 import recall_pb2
from helix_query.diagnostics.explanation import Loss
from helix_query.diagnostics.proposals import proposals
from helix_query.diagnostics.replay import WhyNot
from helix_query.recall.packing.memory import get_memory
from helix_shared.errors import InvalidInputError

if TYPE_CHECKING:
    from datetime import datetime
    from typing import Any

    from helix_query.diagnostics.replay import Replay
    from helix_query.diagnostics.replays import Replays
    from helix_shared.artifacts.filter.selection import Selection

Changes = tuple[recall_pb2.Change, ...]
T = TypeVar("T")
Steps = Generator[None, None, T]
"""Yields before every further asking; returns the result."""

WAY: Final[Mapping[Loss, int]] = {
    loss: number
    for number, loss in enumerate(
        (
            Loss.SKIPPED,
            Loss.FILTER,
            Loss.NOT_RETRIEVED,
            Loss.THRESHOLD,
            Loss.NOT_AMONG_BEST,
            Loss.NEAR_DUPLICATE,
            Loss.TOP_K,
            Loss.ALREADY_SERVED,
            Loss.ABSTAINED,
            Loss.TOKEN_BUDGET,
            Loss.NONE,
        )
    )
}
"""How far a memory got that was lost there."""


def why_not(request: recall_pb2.RecallRequest, memory_id: str, replays: Replays) -> Steps[WhyNot]:
    """Ask the question of `request`, and look for the change; each step asks once.

    Raises:
        NotFoundError: no such memory is visible to the caller at that moment; which, is not told.
        InvalidInputError: the request breaks a limit.
        TemporaryError: no channel answered.
        OverdueError: the deadline of the call passed.
    """
    query = replays.parse(request)
    row = _visible(memory_id, query.selection, replays, now=query.clock)
    first = replays.ask(request, row)
    found = yield from _search(request, first, (), replays)
    exhausted = found is None and replays.exhausted
    changes: Changes = ()
    if found is not None:
        changes = yield from _without_needless(request, row, found, replays)
    for change in changes:
        changes = yield from _lowered(request, first, changes, change, replays)
    # With fewer memories another part may have become needless.
    changes = yield from _without_needless(request, row, changes, replays)
    return WhyNot(first, changes, replays.asked - 1, exhausted)


def _visible(memory_id: str, selection: Selection, replays: Replays, *, now: datetime) -> Mapping[str, Any]:
    """The row, under the scope of the request without its filter."""
    scope = selection.unfiltered()
    row, _ = get_memory(memory_id, scope, replays.snapshot, now=now, deadline=replays.deadline)
    return row


def _search(
    request: recall_pb2.RecallRequest, replay: Replay, changes: Changes, replays: Replays
) -> Steps[Changes | None]:
    """Changes on top of `changes` that bring the memory in; depth first, so the smallest are tried first."""
    if replay.loss is Loss.NONE:
        return changes
    for proposal in proposals(replay):
        if replays.exhausted:
            return None
        more = merged(changes, proposal)
        better = yield from _asked(request, replay.row, more, replays)
        if better is None or _reached(better) <= _reached(replay):
            continue
        found = yield from _search(request, better, more, replays)
        if found is not None:
            return found
    return None


def _asked(
    request: recall_pb2.RecallRequest, row: Mapping[str, Any], changes: Changes, replays: Replays
) -> Steps[Replay | None]:
    """The changed question; None where the changes break a limit."""
    yield
    try:
        return replays.ask(request, row, changes)
    except InvalidInputError:
        return None


def _reached(replay: Replay) -> tuple[int, int]:
    """How far the memory got: the stage, then its place by score."""
    loss, position = replay.loss, replay.position
    if position is None:
        return WAY[loss], 0
    return WAY[loss], -int(replay.explanation.places[position])


def _without_needless(
    request: recall_pb2.RecallRequest, row: Mapping[str, Any], changes: Changes, replays: Replays
) -> Steps[Changes]:
    """What is left when every change goes without which the memory is in as well."""
    for change in changes if len(changes) > 1 else ():
        fewer = tuple(one for one in changes if one is not change)
        if replays.exhausted:
            break
        replay = yield from _asked(request, row, fewer, replays)
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
    """`changes` with the number of `change` as low as it may be; found by halving, where one less will do."""
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
        replay = yield from _asked(request, first.row, fewer, replays)
        if replay is not None and replay.loss is Loss.NONE:
            changes, high = fewer, tried
        elif step == 1:
            break
        else:
            low = tried
        step = max((high - low) // 2, 1)
    return changes


def merged(changes: Sequence[recall_pb2.Change], more: Sequence[recall_pb2.Change]) -> Changes:
    """Both; of two for one field or constant the later value, with what it was at first."""
    by_key = {(one.request_field, one.profile_key): one for one in changes}
    for one in more:
        key = (one.request_field, one.profile_key)
        was = by_key[key].was if key in by_key else one.was
        by_key[key] = recall_pb2.Change(
            request_field=one.request_field, profile_key=one.profile_key, value=one.value, was=was
        )
    return tuple(by_key.values())
