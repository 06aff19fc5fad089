"""How a row stands right now: a pure function of the row, the tombstones and the time.

Because nothing is toggled, rows and events may arrive in any order and every order ends in the
same standing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from helix_consolidation.tombstones import Tombstones

NEVER: Final = -(2**63)
"""Null of a time column in microseconds."""


@dataclass(frozen=True, slots=True)
class Bearings:
    """What of a row decides its standing; codes are `tombstones.scope_code`s, times microseconds."""

    stream_sequence: int
    memory: int
    session: int
    document: int
    user: int
    corrects: int
    expires_at: int = NEVER


@dataclass(frozen=True, slots=True)
class Standing:
    """What the stores say of a row."""

    superseded_by: str = ""
    is_latest: bool = True
    deleted_at: int = NEVER
    is_hidden: bool = False


def standing(row: Bearings, tombstones: Tombstones, now: int) -> Standing:
    """Superseded, forgotten, expired, or plainly there.

    Of two corrections of one memory the later supersedes the earlier as well.
    """
    superseded, superseded_by = _superseded(row, tombstones)
    deleted_at = _deleted_at(row, tombstones)
    expired = row.expires_at != NEVER and row.expires_at <= now
    return Standing(
        superseded_by=superseded_by,
        is_latest=not superseded,
        deleted_at=deleted_at,
        is_hidden=superseded or deleted_at != NEVER or expired,
    )


def _superseded(row: Bearings, tombstones: Tombstones) -> tuple[bool, str]:
    for memory in (row.memory, row.corrects):
        correction = tombstones.corrections.get(memory)
        if correction is not None and correction.sequence > row.stream_sequence:
            return True, correction.memory_id
    return tombstones.replaced.get(row.document, 0) > row.stream_sequence, ""


def _deleted_at(row: Bearings, tombstones: Tombstones) -> int:
    latest = max(
        (
            forgotten
            for selector in (row.memory, row.session, row.document, row.user)
            if (forgotten := tombstones.forgotten.get(selector)) is not None
            and forgotten.is_hidden
            and forgotten.sequence > row.stream_sequence
        ),
        key=lambda forgotten: forgotten.sequence,
        default=None,
    )
    return NEVER if latest is None else latest.at
