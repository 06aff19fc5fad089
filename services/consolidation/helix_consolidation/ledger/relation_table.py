"""The decided relations, by ordinal: 38 bytes each, whether they count or not.

`folding.status.links` says which of them count. Most are found by a scan of two columns, because they are
asked for only when a memory is forgotten, corrected or undone; those that change the status of the older
memory are indexed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from helix_shared.artifacts.relations.records import (
    CLOSES,
    DUPLICATE,
    RELATION,
    RETRACTS,
    REVIVES,
    UNSURE,
    EvidenceNames,
    encoded,
    revoked_rows,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from helix_shared.artifacts.relations.records import DecidedRelation

_FIRST_CAPACITY: Final = 1_024
NONE: Final = -1
"""Ordinal of an erased memory."""


class RelationTable:
    """Relations by row, in the order of decision."""

    def __init__(self) -> None:
        self._records = np.zeros(_FIRST_CAPACITY, RELATION)
        self._counts = np.zeros(_FIRST_CAPACITY, bool)
        self._size = 0
        self._saved = 0
        self._on_status: dict[int, list[int]] = {}
        """Older memory -> rows that may change its status."""
        self._revivals: dict[int, list[int]] = {}
        """Older memory -> rows that take its value back."""
        self._retractions: dict[int, list[int]] = {}
        """Older memory -> rows by which it was not meant, or was undone."""
        self.names = EvidenceNames()

    def __len__(self) -> int:
        return self._size

    @property
    def records(self) -> NDArray[np.void]:
        """All relations (`RELATION`); a view, read-only by convention."""
        return self._records[: self._size]

    def add(self, relation: DecidedRelation) -> int:
        """Add a relation that does not count yet; returns its row."""
        row = self._append(encoded(relation, self.names))
        self._index(row)
        return row

    def _append(self, record: Any) -> int:
        row = self._size
        if row == len(self._records):
            self._records = np.concatenate([self._records, np.zeros(row, RELATION)])
            self._counts = np.concatenate([self._counts, np.zeros(row, bool)])
        self._records[row] = record
        self._size += 1
        return row

    @property
    def void(self) -> NDArray[np.int64]:
        """Rows that do not count, ascending."""
        return np.flatnonzero(~self._counts[: self._size])

    def counts(self, row: int) -> bool:
        """Whether a relation counts."""
        return bool(self._counts[row])

    def set_counts(self, row: int, *, counts: bool) -> None:
        """Record whether a relation counts."""
        self._counts[row] = counts

    def set_all(self, holding: NDArray[np.bool_]) -> None:
        """Let every relation count whose newer memory holds; `holding` is by ordinal."""
        newer = self.records["newer"]
        there = (newer != NONE) & (self.records["probability"] > 0)
        self._counts[: self._size][there] = holding[newer[there]]

    def touching(self, ordinals: Collection[int]) -> list[int]:
        """Rows of the relations from or to any of these memories."""
        if not ordinals or not self._size:
            return []
        wanted = np.fromiter(ordinals, np.int64, len(ordinals))
        records = self.records
        return self._rows(np.isin(records["newer"], wanted) | np.isin(records["older"], wanted))

    def between(self, newer: int, older: int) -> list[int]:
        """Rows of the relation between two memories, if there is one."""
        return self._rows((self.records["newer"] == newer) & (self.records["older"] == older))

    def from_(self, newer: Collection[int]) -> list[int]:
        """Rows of the relations from any of these memories."""
        return self._rows_at("newer", newer)

    def unsure(self, streams: NDArray[np.int64], event: int) -> list[int]:
        """Rows that a verdict may move, of the memories of an event; `streams` are the events by ordinal."""
        chosen = np.flatnonzero(self.records["flags"] & UNSURE)
        newer = self.records["newer"][chosen]
        chosen = chosen[newer != NONE]
        rows: list[int] = chosen[streams[self.records["newer"][chosen]] == event].tolist()
        return rows

    def unsure_about(self, ordinals: Collection[int]) -> list[int]:
        """Newer memories of the relations from or to any of these memories that a verdict may move."""
        unsure = [row for row in self.touching(ordinals) if self.records["flags"][row] & UNSURE]
        newer: list[int] = self.records["newer"][unsure].tolist()
        return newer

    def equals(self, row: int, relation: DecidedRelation) -> bool:
        """Whether a row is this relation, bit for bit."""
        wanted = np.zeros(1, RELATION)
        wanted[0] = encoded(relation, self.names)
        return bool(self._records[row].tobytes() == wanted[0].tobytes())

    def revoke(self, row: int) -> None:
        """Revoke a relation; if it is stored, a record of probability 0 is added."""
        if row < self._saved:
            record = self._records[row].copy()
            record["probability"], record["flags"] = 0.0, 0
            self._append(record)
        self._void(row)

    def to(self, older: Collection[int]) -> list[int]:
        """Rows of the relations to any of these memories."""
        return self._rows_at("older", older)

    def on_status(self, older: int) -> list[int]:
        """Rows that close a memory, or say it again."""
        return self._on_status.get(older, [])

    def revivals(self, older: int) -> list[int]:
        """Rows by which the value of a memory holds again."""
        return self._revivals.get(older, [])

    @property
    def revived(self) -> set[int]:
        """Memories whose value holds again."""
        return {older for older, rows in self._revivals.items() if rows}

    def retractions_of(self, older: int) -> list[int]:
        """Rows that retract a memory: it was not meant, or was undone."""
        return self._retractions.get(older, [])

    @property
    def retracted_memories(self) -> set[int]:
        """Memories that a later one retracts."""
        return {older for older, rows in self._retractions.items() if rows}

    def erase(self, ordinals: Collection[int]) -> set[int]:
        """Void the relations of erased memories; returns the other memories of those relations."""
        others = set[int]()
        for row in self.touching(ordinals):
            others |= {int(self._records["newer"][row]), int(self._records["older"][row])}
            self._void(row)
        return others.difference(ordinals)

    def unsaved(self) -> NDArray[np.void]:
        """The relations added since the last call."""
        start, self._saved = self._saved, self._size
        return self._records[start : self._size].copy()

    def load(self, records: NDArray[np.void], names: Sequence[str], there: NDArray[np.bool_]) -> None:
        """Continue from stored relations; `there` says by ordinal which memories exist."""
        self._size = self._saved = len(records)
        spare = np.zeros(_FIRST_CAPACITY, RELATION)
        self._records = np.concatenate([records, spare])
        self._counts = np.zeros(len(self._records), bool)
        self.names = EvidenceNames(names)
        for row in np.flatnonzero(
            ~(_exist(records["newer"], there) & _exist(records["older"], there))
        ).tolist():
            self._void(row)
        for row in revoked_rows(records).tolist():
            self._void(row)
        is_special = (records["flags"] & (CLOSES | REVIVES | RETRACTS) != 0) | (records["kind"] == DUPLICATE)
        for row in np.flatnonzero(is_special).tolist():
            self._index(row)

    def _rows_at(self, end: Literal["newer", "older"], ordinals: Collection[int]) -> list[int]:
        if not ordinals or not self._size:
            return []
        return self._rows(np.isin(self.records[end], np.fromiter(ordinals, np.int64, len(ordinals))))

    def _rows(self, chosen: NDArray[np.bool_]) -> list[int]:
        records = self.records
        there = (records["newer"] != NONE) & (records["probability"] > 0)
        return [int(row) for row in np.flatnonzero(chosen & there)]

    def _index(self, row: int) -> None:
        record = self._records[row]
        if record["newer"] == NONE:
            return
        if record["flags"] & CLOSES or record["kind"] == DUPLICATE:
            self._on_status.setdefault(int(record["older"]), []).append(row)
        if record["flags"] & REVIVES:
            self._revivals.setdefault(int(record["older"]), []).append(row)
        if record["flags"] & RETRACTS:
            self._retractions.setdefault(int(record["older"]), []).append(row)

    def _void(self, row: int) -> None:
        for index in (self._on_status, self._revivals, self._retractions):
            listed = index.get(int(self._records["older"][row]), [])
            if row in listed:
                listed.remove(row)
        self._records["newer"][row] = self._records["older"][row] = NONE
        self._counts[row] = False


def _exist(ordinals: NDArray[np.int32], there: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which of `ordinals` [n] exist; `there` is by ordinal."""
    known = (ordinals >= 0) & (ordinals < len(there))
    known[known] = there[ordinals[known]]
    return known
