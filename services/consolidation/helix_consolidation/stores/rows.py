"""Build records from edge rows: the columns that the writer adds to a memory.

The edge columns are copied as they came, vectors included; only the added columns are Python values. `apply`
decides which rows, `helix_shared.artifacts.vectors.records` has the schema.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from helix_consolidation.ledger.event_reach import NO_TIME
from helix_consolidation.ledger.lifecycle.tombstones import MOST_ACCESSES
from helix_shared.audience import audience_of, owner_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from helix_consolidation.ledger.facts import MemoryStatus
    from helix_consolidation.ledger.lifecycle.tombstones import Usage

_TIME: Final = pa.timestamp("us", tz="UTC")
_NAMES: Final = pa.list_(pa.string())
_CARRIED: Final = (
    "ordinal",
    "expansions",
    "access_count",
    "helpful_count",
    "unhelpful_count",
    "last_accessed_at",
    "last_feedback_at",
)
_CARRIED_TIMES: Final = ("last_accessed_at", "last_feedback_at")


@dataclass(frozen=True, slots=True)
class Additions:
    """Columns of a record that a new version of its edge row keeps; times are in microseconds."""

    expansions: tuple[str, ...] = ()
    access_count: int = 0
    helpful_count: int = 0
    unhelpful_count: int = 0
    last_accessed_at: int | None = None
    last_feedback_at: int | None = None

    def used(self, usage: Usage) -> Additions:
        """With the counts of `usage` added."""
        return replace(
            self,
            access_count=min(self.access_count + usage.accesses, MOST_ACCESSES),
            helpful_count=self.helpful_count + usage.helpful,
            unhelpful_count=self.unhelpful_count + usage.unhelpful,
            last_accessed_at=max(self.last_accessed_at or 0, usage.last_at) or None,
            last_feedback_at=max(self.last_feedback_at or 0, usage.feedback_at) or None,
        )


@dataclass(frozen=True, slots=True)
class RecordFields:
    """All columns that the writer adds to a row."""

    ordinal: int
    additions: Additions
    status: MemoryStatus
    duplicate_of: str


def additions_of(records: pa.Table) -> dict[int, Additions]:
    """The additions of stored records, by ordinal."""
    light = records.select(_CARRIED)
    for name in _CARRIED_TIMES:
        at = light.column_names.index(name)
        light = light.set_column(at, name, light[name].cast(pa.int64()))
    return {
        row.pop("ordinal"): Additions(**(row | {"expansions": tuple(row["expansions"])}))
        for row in light.to_pylist()
    }


def records_of(edge: pa.Table, fields: Sequence[RecordFields]) -> pa.Table:
    """Records: the n-th row of `edge` with the n-th of `fields`."""
    scopes = edge.select(["shared", "user_id", "acl"]).to_pylist()
    columns: dict[str, pa.Array] = {
        "ordinal": pa.array([f.ordinal for f in fields], pa.int64()),
        "expansions": pa.array([f.additions.expansions for f in fields], _NAMES),
        "is_latest": pa.array([f.status.is_latest for f in fields], pa.bool_()),
        "superseded_by": pa.array([f.status.superseded_by for f in fields], pa.string()),
        "duplicate_of": pa.array([f.duplicate_of for f in fields], pa.string()),
        "deleted_at": _times([_nullable(f.status.deleted_at) for f in fields]),
        "deleted_by": pa.array([f.status.deleted_by for f in fields], pa.int64()),
        "erasing": pa.array([f.status.erasing for f in fields], pa.bool_()),
        "access_count": pa.array([f.additions.access_count for f in fields], pa.int32()),
        "helpful_count": pa.array([f.additions.helpful_count for f in fields], pa.int32()),
        "unhelpful_count": pa.array([f.additions.unhelpful_count for f in fields], pa.int32()),
        "last_accessed_at": _times([f.additions.last_accessed_at for f in fields]),
        "owner": pa.array(
            [owner_of(scope["user_id"], shared=scope["shared"]) for scope in scopes], pa.string()
        ),
        "audience": pa.array([audience_of(scope["acl"]) for scope in scopes], _NAMES),
        "event_at": pc.coalesce(edge["event_start"], edge["occurred_at"]),
        "hidden": pa.array([f.status.is_hidden for f in fields], pa.bool_()),
        "closed_at": _times([_nullable(f.status.closed_at) for f in fields]),
        "restated": pa.array([f.status.restated for f in fields], pa.int32()),
        "last_feedback_at": _times([f.additions.last_feedback_at for f in fields]),
        "decayed_at": _times([_nullable(f.status.decayed_at) for f in fields]),
    }
    return pa.table({**{name: edge[name] for name in edge.column_names}, **columns})


def _nullable(moment: int) -> int | None:
    return None if moment == NO_TIME else moment


def _times(microseconds: list[int | None]) -> Any:
    return pa.array(microseconds, pa.int64()).cast(_TIME)
