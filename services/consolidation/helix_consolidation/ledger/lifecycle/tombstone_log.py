"""Tombstones on the disk: append-only segments of fixed-size records, merged so that there are few.

A publish writes the changes since the last one as a new segment (`SegmentFiles`) and links the others. The
last record of a key counts. Every segment is a file of the manifest, and its checksum is verified before it
is read. Of the executed events the latest `REMEMBERED_EVENTS` are kept.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from helix_shared.artifacts.files.mapped import mapped
from helix_shared.artifacts.files.saved import save_array
from helix_shared.artifacts.files.segment_files import SegmentFiles
from helix_shared.errors import REBUILD, CorruptArtifactError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from helix_shared.artifacts.files.segment_files import Merge

REMEMBERED_EVENTS: Final = 200_000
"""Lifecycle events whose ids are remembered, the latest of the log."""
_RECORD: Final = np.dtype(
    [
        ("table", np.uint8),
        ("key", np.int64),
        ("scope", np.int64),
        ("sequence", np.int64),
        ("value", np.int64),
        ("flag", np.uint8),
    ]
)


class Table(IntEnum):
    """Which dictionary of `Tombstones` a record belongs to; the numbers are stored."""

    ACTORS = 1
    """`key` actor, `scope` its user, `value` one of its principals (0: none), `flag` 1: `Actor.is_own`."""
    FORGOTTEN = 2
    """`key` selector, `scope` actor, `sequence` and `value` of the event (its time), `flag` 1: it hides."""
    ERASED = 3
    """`key` selector, `scope` actor, `sequence` of the erasure."""
    REPLACED = 4
    """`key` document, `scope` actor, `sequence` of the later version or the deletion."""
    ERASED_MEMORIES = 5
    """`key` memory, `scope` actor, `sequence` of the row, `value` that of the erasure; `flag` 0 revokes."""
    WITHDRAWN = 6
    """`key` memory, `flag` 1: it is withdrawn."""
    ERASED_CORRECTIONS = 7
    """`key` correction, `scope` what it corrected (0 revokes), `sequence` log position, `value` ordinal."""
    EXECUTED = 8
    """`key` event, `sequence` under which it was executed."""
    UNDONE = 9
    """`key` memory, `scope` actor, `sequence` of the undo, `value` the other memory (`NOTHING`: any)."""
    REPEATS = 10
    """`key` event, `scope` and `sequence` both that of the repeat, `value` its session."""


class Record(NamedTuple):
    """One change; `Table` says what the numbers mean in each table."""

    table: Table
    key: int
    scope: int = 0
    sequence: int = 0
    value: int = 0
    flag: int = 0


_REMOVED_BY: Final = {
    Table.ERASED_MEMORIES: "flag",
    Table.WITHDRAWN: "flag",
    Table.ERASED_CORRECTIONS: "scope",
}
"""Tables in which a record with 0 in this field revokes an earlier one."""
_ONE_PER_KEY: Final = (*_REMOVED_BY, Table.EXECUTED)
"""Tables with one entry per key; `scope` is not part of the key."""


class TombstoneLog:
    """The segments in a folder, which may be new; one thread of one process writes.

    Raises:
        CorruptArtifactError: a segment cannot be read.
    """

    def __init__(self, folder: Path) -> None:
        self._segments = SegmentFiles(folder, ".npy", lambda path: len(_load(path, is_mapped=True)))

    @property
    def files(self) -> list[Path]:
        """The segments, oldest first; the files never change."""
        return self._segments.files

    def records(self) -> Iterator[Record]:
        """All records, oldest first."""
        for path in self._segments.files:
            for table, key, scope, sequence, value, flag in _load(path).tolist():
                yield Record(Table(table), key, scope, sequence, value, flag)

    def append(self, records: Sequence[Record]) -> None:
        """Write records as a new segment."""
        if not records:
            return
        added = np.array([tuple(record) for record in records], _RECORD)

        def write(merge: Merge) -> int:
            rows = np.concatenate([*map(_load, merge.segments), added])
            rows = _last(rows, is_whole=merge.is_whole)
            save_array(merge.target, rows)
            return len(rows)

        self._segments.append(len(added), write)


def _last(rows: NDArray[np.void], *, is_whole: bool) -> NDArray[np.void]:
    """The last row of every key, in order; of the whole log without the rows that only revoke another."""
    values = np.where(np.isin(rows["table"], (Table.ACTORS, Table.UNDONE)), rows["value"], 0)
    scopes = np.where(np.isin(rows["table"], _ONE_PER_KEY), 0, rows["scope"])
    keys = (values, scopes, rows["key"], rows["table"])
    order = np.lexsort(keys)
    same = np.ones(len(order) - 1, bool)
    for column in keys:
        same &= column[order[1:]] == column[order[:-1]]
    kept = np.sort(order[~np.append(same, values=False)])
    found: NDArray[np.void] = rows[kept]
    is_kept = np.ones(len(found), bool)
    is_kept[np.flatnonzero(found["table"] == Table.EXECUTED)[:-REMEMBERED_EVENTS]] = False
    for table, name in _REMOVED_BY.items() if is_whole else ():
        is_kept &= (found["table"] != table) | (found[name] != 0)
    return found[is_kept]


def _load(path: Path, *, is_mapped: bool = False) -> NDArray[np.void]:
    """The rows of a segment, read or mapped."""
    try:
        rows: NDArray[np.void] = mapped(path) if is_mapped else np.load(path, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise CorruptArtifactError(f"tombstones cannot be read: {path}") from error
    if rows.dtype != _RECORD or rows.ndim != 1:
        raise CorruptArtifactError(f"tombstones are of another version: {path}; {REBUILD}")
    return rows
