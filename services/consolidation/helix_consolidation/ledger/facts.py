"""One memory in the ledger: the stored record, the entry that creates it, and its status."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from helix_consolidation.ledger.event_reach import EVERYBODY, NO_TIME, Visibility

NO_DUPLICATE: Final = -1
FACTS: Final = np.dtype(
    [
        ("memory_id", "S32"),
        ("tenant", np.int32),
        ("piece", np.int32),
        ("stream", np.int64),
        ("revision", np.int64),
        ("session", np.int64),
        ("document", np.int64),
        ("user", np.int64),
        ("visibility", np.int32),
        ("expires_at", np.int64),
        ("deleted_at", np.int64),
        ("duplicate_of", np.int32),
        ("is_hidden", np.bool_),
        ("is_latest", np.bool_),
        ("is_there", np.bool_),
        ("created_at", np.int64),
        ("salience", np.float32),
        ("may_decay", np.bool_),
        ("accesses", np.int32),
        ("helpful", np.int32),
        ("unhelpful", np.int32),
        ("accessed_at", np.int64),
        ("decayed_at", np.int64),
        ("deleted_by", np.int64),
        ("erasing", np.bool_),
    ]
)
NEW_MEMORY_FACTS: Final = {
    "duplicate_of": NO_DUPLICATE,
    "is_hidden": False,
    "is_latest": True,
    "is_there": True,
    "deleted_at": NO_TIME,
    "deleted_by": 0,
    "erasing": False,
    "accesses": 0,
    "helpful": 0,
    "unhelpful": 0,
    "accessed_at": NO_TIME,
    "decayed_at": NO_TIME,
}
"""Facts that its row does not state: nobody has used, deleted or replaced it."""
REVISION_FACTS: Final = tuple(name for name in NEW_MEMORY_FACTS if name != "is_there")
"""Facts that a new version of the row does not change."""


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """An incoming row; `session`, `document` and `user` are `value_code`s, `expires_at` in microseconds."""

    memory_id: str
    tenant_id: str
    piece: int
    stream_sequence: int
    revision_sequence: int
    session: int
    document: int
    user: int
    expires_at: int = NO_TIME
    corrects: str = ""
    visibility: Visibility = EVERYBODY
    created_at: int = 0
    salience: float = 0.0
    may_decay: bool = False
    """Whether decay may hide it, by its type, pin, priority and speech act."""
    source: str = ""
    """Id of the verbatim memory beside which this statement was made by ingest, in one message."""


@dataclass(frozen=True, slots=True)
class MemoryStatus:
    """Whether a memory is current, deleted, hidden; times are in microseconds."""

    superseded_by: str = ""
    is_latest: bool = True
    deleted_at: int = NO_TIME
    is_hidden: bool = False
    closed_at: int = NO_TIME
    """When it stopped to be valid, if `superseded_by` replaced it by a decision and not by a correction."""
    restated: int = 0
    """Number of later memories that say the same again."""
    deleted_by: int = 0
    """Sequence of the event that forgot or erases it; 0: none."""
    erasing: bool = False
    """Whether that event erases it; it waits for earlier events."""
    decayed_at: int = NO_TIME
    """Since when decay hides it, also after it was replaced; `NO_TIME` also if it is deleted."""

    @property
    def is_in_force(self) -> bool:
        """Whether its relations to earlier memories count: nobody withdrew, corrected or forgot it."""
        return self.deleted_at == NO_TIME and (self.is_latest or self.closed_at != NO_TIME)


@dataclass(slots=True)
class RareStatus:
    """Parts of `MemoryStatus` that few memories have, by ordinal."""

    superseded_by: dict[int, str]
    closed: dict[int, tuple[int, int]]
    """When it was closed (microseconds), and how often it was restated, where either is set."""

    def of(self, ordinal: int) -> tuple[str, int, int]:
        """`superseded_by`, `closed_at` and `restated` of a memory."""
        return self.superseded_by.get(ordinal, ""), *self.closed.get(ordinal, (NO_TIME, 0))

    def record(
        self, ordinal: int, superseded_by: str = "", closed_at: int = NO_TIME, restated: int = 0
    ) -> None:
        """Record them, or that there are none."""
        self.superseded_by.pop(ordinal, None)
        self.closed.pop(ordinal, None)
        if superseded_by:
            self.superseded_by[ordinal] = superseded_by
        if closed_at != NO_TIME or restated:
            self.closed[ordinal] = closed_at, restated

    @property
    def closed_ordinals(self) -> list[int]:
        """The memories that were closed."""
        return [ordinal for ordinal, (closed_at, _) in self.closed.items() if closed_at != NO_TIME]


def shown_decay(decayed_at: int, *, deleted_at: int) -> int:
    """`MemoryStatus.decayed_at`: `NO_TIME` if the memory is deleted as well."""
    return decayed_at if deleted_at == NO_TIME else NO_TIME
