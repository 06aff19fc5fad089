"""How a row stands right now: a pure function of the row, the tombstones, the pending acts and the time.

Because nothing is toggled, rows and events may arrive in any order and every order ends in the
same standing. Which version of a corrected memory stands is decided by `versions`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from helix_consolidation.ledger.event_reach import EVERYBODY, Visibility
from helix_consolidation.ledger.tombstones import ForgetRecord

if TYPE_CHECKING:
    from helix_consolidation.ledger.pending_actions import PendingActions
    from helix_consolidation.ledger.tombstones import Tombstones

NEVER: Final = -(2**63)
"""Null of a time column in microseconds."""


@dataclass(frozen=True, slots=True)
class MemoryFacts:
    """What of a row decides its standing; codes are `reach.value_code`s, times microseconds."""

    stream_sequence: int
    memory: int
    session: int
    document: int
    user: int
    visibility: Visibility = EVERYBODY
    expires_at: int = NEVER

    @property
    def selectors(self) -> tuple[int, ...]:
        """Codes an event may name the row by; some are `NOTHING`."""
        return self.memory, self.session, self.document, self.user


@dataclass(frozen=True, slots=True)
class MemoryStatus:
    """What the stores say of a row."""

    superseded_by: str = ""
    is_latest: bool = True
    deleted_at: int = NEVER
    is_hidden: bool = False


def status_of(
    row: MemoryFacts, tombstones: Tombstones, pending: PendingActions, now: int, *, superseded_by: str = ""
) -> MemoryStatus:
    """Superseded, forgotten, expired, or plainly there.

    `superseded_by` is the id of the live version that stands for this one.
    """
    deleted_at = forgotten_at(row, tombstones, pending)
    is_latest = not (superseded_by or is_outdated(row, tombstones, pending))
    expired = row.expires_at != NEVER and row.expires_at <= now
    return MemoryStatus(
        superseded_by=superseded_by,
        is_latest=is_latest,
        deleted_at=deleted_at,
        is_hidden=not is_latest or deleted_at != NEVER or expired,
    )


def is_outdated(row: MemoryFacts, tombstones: Tombstones, pending: PendingActions) -> bool:
    """Whether its document has a later version, or the latest answer to its event holds the row no more."""
    return (
        row.memory in tombstones.withdrawn
        or tombstones.is_replaced(row)
        or any(action.kind == "replace" for action in pending.reaching(row))
    )


def forgotten_at(row: MemoryFacts, tombstones: Tombstones, pending: PendingActions) -> int:
    """When a row was forgotten, or its erasure was published; `NEVER` when it is neither.

    Of what names it in one way the last word counts; one of the ways is enough.
    """
    actions = pending.reaching(row)
    hiding = [
        ForgetRecord(action.sequence, is_hidden=True, at=action.at)
        for action in actions
        if action.kind == "erase"
    ]
    for selector in filter(None, row.selectors):
        verdicts = tombstones.verdicts(row, selector)
        verdicts += [
            ForgetRecord(action.sequence, action.kind == "forget", action.at)
            for action in actions
            if action.kind in ("forget", "restore") and selector in action.selectors
        ]
        last = max(verdicts, key=_sequence, default=None)
        if last is not None and last.is_hidden:
            hiding.append(last)
    return max(hiding, key=_sequence).at if hiding else NEVER


def _sequence(verdict: ForgetRecord) -> int:
    return verdict.sequence
