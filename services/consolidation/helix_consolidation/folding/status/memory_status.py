"""The status of a memory: a pure function of its facts, the tombstones, the pending actions and the time.

Nothing is toggled, so rows and events may arrive in any order and end in the same status. `version_family`
decides which version of a corrected memory is current, `links` what a decided relation closes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from helix_consolidation.ledger.event_reach import NO_TIME
from helix_consolidation.ledger.facts import MemoryStatus, shown_decay
from helix_consolidation.ledger.lifecycle.tombstones import ForgetRecord

if TYPE_CHECKING:
    from helix_consolidation.ledger.event_reach import MemoryFacts
    from helix_consolidation.ledger.lifecycle.pending_actions import PendingActions
    from helix_consolidation.ledger.lifecycle.tombstones import Tombstones


@dataclass(frozen=True, slots=True)
class Decided:
    """The effect of decided relations: what closed a memory and when (microseconds), and its repetitions."""

    closed_by: str = ""
    closed_at: int = NO_TIME
    restated: int = 0


NOTHING_DECIDED: Final = Decided()


def status_of(
    memory: MemoryFacts,
    tombstones: Tombstones,
    pending: PendingActions,
    now: int,
    *,
    superseded_by: str = "",
    decided: Decided = NOTHING_DECIDED,
    decayed_at: int = NO_TIME,
) -> MemoryStatus:
    """Superseded, closed, forgotten, expired, decayed, or visible.

    `superseded_by` is the id of the active version that replaces this one; it counts before a decision. A
    memory that its document or event no longer has names no successor: more than a later memory hides it.
    `decayed_at` is what `usage.decay` found; times are in microseconds.
    """
    hiding = hiding_record(memory, tombstones, pending)
    deleted_at = NO_TIME if hiding is None else hiding.at
    is_outdated = _is_outdated(memory, tombstones, pending)
    superseded_by = "" if is_outdated else superseded_by
    is_replaced = is_outdated or bool(superseded_by)
    is_closed = bool(decided.closed_by) and not is_replaced
    expired = memory.expires_at != NO_TIME and memory.expires_at <= now
    is_latest = not (is_replaced or is_closed)
    return MemoryStatus(
        superseded_by=decided.closed_by if is_closed else superseded_by,
        is_latest=is_latest,
        deleted_at=deleted_at,
        deleted_by=0 if hiding is None else hiding.sequence,
        erasing=hiding is not None and hiding.erases,
        is_hidden=not is_latest or deleted_at != NO_TIME or expired or decayed_at != NO_TIME,
        closed_at=decided.closed_at if is_closed else NO_TIME,
        restated=decided.restated,
        decayed_at=shown_decay(decayed_at, deleted_at=deleted_at),
    )


def hiding_record(
    memory: MemoryFacts, tombstones: Tombstones, pending: PendingActions
) -> ForgetRecord | None:
    """The forget, or the published erasure, that hides a memory; None if nothing does.

    If a selector has several forgets and restores, the last counts; one selector is enough to hide the
    memory. An erasure goes before them, since nothing takes it back.
    """
    actions = pending.reaching(memory)
    hiding = [
        ForgetRecord(a.sequence, is_hidden=True, at=a.at, erases=True) for a in actions if a.kind == "erase"
    ]
    for selector in filter(None, memory.selectors):
        records = tombstones.forget_records(memory, selector)
        records += [
            ForgetRecord(action.sequence, action.kind == "forget", action.at)
            for action in actions
            if action.kind in ("forget", "restore") and selector in action.selectors
        ]
        last = max(records, key=_sequence, default=None)
        if last is not None and last.is_hidden:
            hiding.append(last)
    return max(hiding, key=_last_erasure_first, default=None)


def _is_outdated(memory: MemoryFacts, tombstones: Tombstones, pending: PendingActions) -> bool:
    """Whether its document has a later version, or the latest memories message of its event lacks it."""
    return (
        memory.memory in tombstones.withdrawn
        or tombstones.is_replaced(memory)
        or any(action.kind == "replace" for action in pending.reaching(memory))
    )


def _last_erasure_first(record: ForgetRecord) -> tuple[bool, int]:
    return record.erases, record.sequence


def _sequence(record: ForgetRecord) -> int:
    return record.sequence
