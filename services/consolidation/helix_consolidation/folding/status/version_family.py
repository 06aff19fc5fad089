"""Status updates that respect version families: a memory, its corrections, their corrections, and so on.

`ledger.versions` decides which member is current; `version_members` has the members.

Whether a member is active affects what it corrects and the other corrections of that, and continues upwards
only through members that are not active. So a new correction in a long family is checked with its neighbours.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from helix_consolidation.folding.status.links import decided_of, stop_asking, update_links
from helix_consolidation.folding.status.memory_status import Decided, status_of
from helix_consolidation.folding.status.version_members import (
    Member,
    corrected_memory_of,
    corrections_of,
    facts_of,
    version,
)
from helix_consolidation.ledger.event_reach import NO_TIME, NOTHING
from helix_consolidation.ledger.usage_facts import decayed_at
from helix_consolidation.ledger.versions import Version, superseded

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from helix_consolidation.folding.context import FoldContext
    from helix_consolidation.ledger.consolidation_state import ConsolidationState
    from helix_consolidation.ledger.facts import MemoryStatus


def update_status(context: FoldContext, ordinals: Iterable[int]) -> None:
    """Compute the status of these memories and of all they affect; what changed will be written.

    They affect other versions of themselves. If a memory begins or ceases to hold, so do its decided
    relations, and with them the status of the memories that it closes or repeats.
    """
    changed = _update(context, set(ordinals))
    affected = update_links(context, changed) if changed else set[int]()
    if affected:
        _update(context, affected)


def _update(context: FoldContext, requested: set[int]) -> list[int]:
    """Update the memories, their versions and what was said in the same turn.

    Returns those that began or ceased to hold.
    """
    state, changed, beside = context.state, list[int](), set[int]()
    for start in dict.fromkeys(_start_of(state, ordinal) for ordinal in sorted(requested)):
        for member, status in _statuses(state, start, context.now, requested).items():
            before = state.ledger.status(member)
            if status != before:
                if status.deleted_at != NO_TIME and before.deleted_at == NO_TIME:
                    stop_asking(context, [member])
                state.ledger.record_status(member, status)
                context.changes.reindex(member)
                changed += [member] * (status.is_in_force != before.is_in_force)
                beside |= state.extracted.of_sources([member])
                if status.superseded_by != before.superseded_by:
                    beside.update(state.ledger.sources.same_turn(member))
    return [*changed, *_update(context, beside)] if beside else changed


def _statuses(
    state: ConsolidationState, start: tuple[int, int | None], now: int, requested: Collection[int]
) -> dict[int, MemoryStatus]:
    """The status of the `requested` members near `start`, and of those with another successor, by ordinal.

    `start` is the `_start_of` a memory that changed; `now` is in microseconds.
    """
    path, top = _path(state, start)
    family = _around(state, top, path)
    successors = superseded([version for _, version in family]) if len(family) > 1 else {}
    found: dict[int, MemoryStatus] = {}
    for member, _ in family:
        if member.ordinal is None or path.isdisjoint((member.code, member.corrects)):
            continue
        successor = successors.get(member.code, "")
        if member.ordinal in requested or successor != state.ledger.status(member.ordinal).superseded_by:
            own = status_of(
                facts_of(state, member.ordinal),
                state.tombstones,
                state.pending,
                now,
                superseded_by=successor or _successor_of_source(state, member.ordinal),
                decided=_decided_of_turn(state, member.ordinal),
                decayed_at=decayed_at(state.ledger, member.ordinal),
            )
            found[member.ordinal] = _status_of_extracted(state, member.ordinal, own)
    return found


def _status_of_extracted(state: ConsolidationState, ordinal: int, own: MemoryStatus) -> MemoryStatus:
    """The status of an extracted statement, which is hidden as long as its turn is; of others `own`.

    If its turn was corrected or withdrawn, the statement gets the turn's successor: what a later memory
    closed is shown for earlier times, but this turn was never right.
    """
    source = state.extracted.source_of(ordinal)
    if source is None or not state.ledger.is_there(source):
        return own
    its = state.ledger.status(source)
    if not its.is_latest and its.closed_at == NO_TIME:
        own = replace(own, superseded_by=its.superseded_by, closed_at=NO_TIME)
    return replace(
        own,
        superseded_by=own.superseded_by or its.superseded_by,
        is_latest=own.is_latest and its.is_latest,
        deleted_at=own.deleted_at if own.deleted_at != NO_TIME else its.deleted_at,
        deleted_by=own.deleted_by or its.deleted_by,
        erasing=own.erasing if own.deleted_by else its.erasing,
        is_hidden=own.is_hidden or its.is_hidden,
        closed_at=own.closed_at if own.closed_at != NO_TIME else its.closed_at,
    )


def _successor_of_source(state: ConsolidationState, ordinal: int) -> str:
    """Id of the version that replaces the verbatim memory of a derived statement, and so the statement."""
    source = state.ledger.sources.of(ordinal)
    if source is None:
        return ""
    status = state.ledger.status(source)
    return status.superseded_by if status.closed_at == NO_TIME else ""


def _decided_of_turn(state: ConsolidationState, ordinal: int) -> Decided:
    """What decided relations say of a memory; what closes a derived statement or its source closes both."""
    own = decided_of(state, ordinal)
    if own.closed_by:
        return own
    others = (decided_of(state, beside) for beside in state.ledger.sources.same_turn(ordinal))
    closing = next((other for other in others if other.closed_by), None)
    return replace(closing, restated=own.restated) if closing else own


def _start_of(state: ConsolidationState, ordinal: int) -> tuple[int, int | None]:
    """Code, and ordinal if it exists, of what a memory corrects; of the memory itself if it corrects none."""
    code, corrected = state.ledger.corrected_memory_of(ordinal)
    return (code, corrected) if code else (state.ledger.code(ordinal), ordinal)


def _path(state: ConsolidationState, start: tuple[int, int | None]) -> tuple[set[int], Member]:
    """Codes from `start` upwards to the first active member and what that corrects, and the last member."""
    code, ordinal = start
    path: set[int] = set()
    is_last = False
    while True:
        path.add(code)
        corrects, corrected = corrected_memory_of(state, code, ordinal)
        if not corrects or corrects in path or is_last:
            return path, Member(code, NOTHING, ordinal)
        is_last = version(state, Member(code, corrects, ordinal)).is_active
        code, ordinal = corrects, corrected


def _around(state: ConsolidationState, top: Member, path: set[int]) -> list[tuple[Member, Version]]:
    """The members from `top` down that decide the current version of those in `path` and their corrections.

    A member comes before its corrections. Below an active member outside of `path` nothing is listed: that
    member is the successor, even if it is corrected itself.
    """
    found = {top.code: (top, version(state, top))}
    waiting = [top]
    while waiting:
        member = waiting.pop()
        if path.isdisjoint((member.code, member.corrects)) and found[member.code][1].is_active:
            continue
        new = [below for below in corrections_of(state, member.code) if below.code not in found]
        found.update((below.code, (below, version(state, below))) for below in new)
        waiting += new
    return list(found.values())
