"""All statements with decided relations, numbered in the order of the log.

A group's last statements are kept ready in memory once one of them is asked for; the groups asked for longest
ago are dropped. Everything else lies in mapped files (`statement_files`), so a start reads three columns.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final

import numpy as np

from helix_consolidation.statements.group_index import WINDOW, GroupIndex, Match
from helix_consolidation.statements.statement_files import StatementFiles
from helix_consolidation.statements.statement_row import ERASED_GROUP, StatementRow

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from helix_consolidation.relations.statement import Statement

_CACHED_GROUP_STATEMENTS: Final = 4 * WINDOW
"""Statements of the groups in memory."""
_FIRST_CAPACITY: Final = 1_024
_CACHED_STATEMENTS: Final = 8_192


class StatementIndex:
    """Statements by number; only `relate` adds to it, in the order of the log."""

    def __init__(self) -> None:
        self._size = 0
        self._groups = np.full(_FIRST_CAPACITY, ERASED_GROUP, np.int64)
        self._ordinals = np.full(_FIRST_CAPACITY, ERASED_GROUP, np.int64)
        self._files: StatementFiles | None = None
        self._young: list[StatementRow] = []
        """Statements that are in no file yet, the last ones."""
        self._erased: set[int] = set()
        """Numbers of erased statements that are still in a file."""
        self._revised: dict[int, StatementRow] = {}
        """Statements in a file that say less, or something else, since then."""
        self._ready: OrderedDict[int, GroupIndex] = OrderedDict()
        self._statements: OrderedDict[int, tuple[Statement, bytes]] = OrderedDict()

    def __len__(self) -> int:
        return self._size

    def add(self, rows: Sequence[StatementRow]) -> list[list[Match]]:
        """Add statements in the order of the log; returns the candidates of each, in the order of the log."""
        first = self._append(rows)
        of_group: dict[int, list[int]] = {}
        for place, row in enumerate(rows):
            of_group.setdefault(row.group, []).append(place)
        found: list[list[Match]] = [[] for _ in rows]
        for group, places in of_group.items():
            index = self._group(group, before=first)
            index.extend([first + place for place in places], [rows[place] for place in places])
            for place, matches in zip(places, index.search(len(places)), strict=True):
                found[place] = matches
        return found

    def replace(self, ordinal: int, row: StatementRow | None) -> None:
        """Keep `row` as the extracted statement of this ordinal; None: keep nothing. No search finds it."""
        self.erase([ordinal])
        if row is not None:
            self._append([row.as_extracted()])

    def revise(self, rows: Iterable[StatementRow]) -> None:
        """Keep other rows of the same memories in the same groups: what they quoted was erased."""
        by_ordinal = {row.ordinal: row for row in rows}
        for number in self._numbers(by_ordinal).tolist():
            row = by_ordinal[self.ordinal(number)]
            self._ready.pop(int(self._groups[number]), None)
            self._statements.pop(number, None)
            if number < self._stored:
                self._revised[number] = row
            else:
                self._young[number - self._stored] = row

    def rows_of(self, ordinals: Sequence[int]) -> dict[int, StatementRow]:
        """The statements of memories, by ordinal; one that states nothing has none."""
        return {row.ordinal: row for row in self._rows(self._numbers(ordinals))}

    def _numbers(self, ordinals: Collection[int]) -> NDArray[np.int64]:
        """Numbers of the statements of memories, ascending; looks at every statement."""
        wanted = np.fromiter(ordinals, np.int64, len(ordinals))
        if not len(wanted):
            return wanted
        return np.flatnonzero(np.isin(self._ordinals[: self._size], wanted))

    def ordinal(self, number: int) -> int:
        """The memory of a statement."""
        return int(self._ordinals[number])

    def statement(self, number: int) -> Statement:
        """A statement as a decision reads it."""
        return self._found(number)[0]

    def minhash(self, number: int) -> bytes:
        """The MinHash signature of a statement."""
        return self._found(number)[1]

    def _found(self, number: int) -> tuple[Statement, bytes]:
        found = self._statements.get(number)
        if found is None:
            row = self._row(number)
            found = self._statements[number] = row.statement, row.minhash
            if len(self._statements) > _CACHED_STATEMENTS:
                self._statements.popitem(last=False)
        return found

    def erase(self, ordinals: Iterable[int]) -> None:
        """Remove the statements of memories; their texts leave the files with the next `save`."""
        gone = self._numbers(set(ordinals))
        for number in gone.tolist():
            self._ready.pop(int(self._groups[number]), None)
            self._statements.pop(number, None)
            self._revised.pop(number, None)
            if number < self._stored:
                self._erased.add(number)
            else:
                self._young[number - self._stored] = _erased(self._young[number - self._stored])
        self._groups[gone] = self._ordinals[gone] = ERASED_GROUP

    def save(self, folder: Path) -> list[Path]:
        """Write what is new into `folder`, without what was erased; returns all files."""
        if self._files is None:
            self._files = StatementFiles(folder)
        self._files.erase(self._erased)
        self._files.revise(self._revised)
        self._files.append(self._young)
        self._young, self._erased, self._revised = [], set(), {}
        return self._files.paths

    def load(self, folder: Path) -> None:
        """Continue from the files in `folder`.

        Raises:
            CorruptArtifactError: a file cannot be read.
        """
        self._files = StatementFiles(folder)
        self._size = self._files.count
        groups, ordinals = self._files.groups_and_ordinals()
        spare = np.full(_FIRST_CAPACITY, ERASED_GROUP, np.int64)
        self._groups, self._ordinals = np.concatenate([groups, spare]), np.concatenate([ordinals, spare])

    def _append(self, rows: Sequence[StatementRow]) -> int:
        """Add rows without searching; returns the number of the first."""
        first, self._size = self._size, self._size + len(rows)
        if self._size > len(self._groups):
            grown = np.full(max(self._size, len(self._groups)), ERASED_GROUP, np.int64)
            self._groups = np.concatenate([self._groups, grown])
            self._ordinals = np.concatenate([self._ordinals, grown])
        self._groups[first : self._size] = [row.group for row in rows]
        self._ordinals[first : self._size] = [row.ordinal for row in rows]
        self._young += rows
        return first

    @property
    def _stored(self) -> int:
        return self._size - len(self._young)

    def _group(self, group: int, *, before: int) -> GroupIndex:
        """The index of a group with its statements of numbers below `before`."""
        index = self._ready.pop(group, None)
        if index is None or len(index) > 2 * WINDOW:
            numbers = np.flatnonzero(self._groups[:before] == group)[-WINDOW:]
            index = GroupIndex(numbers.tolist(), self._rows(numbers))
        self._ready[group] = index
        kept = sum(map(len, self._ready.values()))
        while kept > _CACHED_GROUP_STATEMENTS and len(self._ready) > 1:
            kept -= len(self._ready.popitem(last=False)[1])
        return index

    def _row(self, number: int) -> StatementRow:
        return self._rows(np.array([number]))[0]

    def _rows(self, numbers: NDArray[np.int64]) -> list[StatementRow]:
        """Rows by ascending numbers."""
        stored = self._stored
        old = numbers[numbers < stored]
        found = self._files.rows(old) if self._files is not None and len(old) else []
        if self._revised:
            found = [self._revised.get(n, row) for n, row in zip(old.tolist(), found, strict=True)]
        return found + [self._young[number - stored] for number in numbers[numbers >= stored].tolist()]


def _erased(row: StatementRow) -> StatementRow:
    nothing = np.zeros(0, np.uint32)
    return StatementRow(
        ERASED_GROUP, 0, ERASED_GROUP, row.sequence, 0, 0, np.zeros(0, np.int8), nothing, b"", b""
    )
