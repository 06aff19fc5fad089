"""Statements whose relations are not decided yet, because an event before theirs may still be missing.

Decisions are made in the order of the log, whatever the order of arrival. Of several messages of one event
the first of HELIX_DERIVED gives the statements, so a statement waits until none before its own is missing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Sequence

    from helix_consolidation.statements.statement_row import StatementRow


class Undecided:
    """Statements by the sequence of their event."""

    def __init__(self) -> None:
        self._of_event: dict[int, list[StatementRow]] = {}
        self._decided = 0
        """Every event up to here is decided: another message of it changes no statement."""

    @property
    def decided(self) -> int:
        """The highest sequence of an event that was decided."""
        return self._decided

    @property
    def rows(self) -> list[StatementRow]:
        """All statements, in the order of the log."""
        return [row for event in sorted(self._of_event) for row in self._of_event[event]]

    def add(self, event: int, derived: int, rows: Sequence[StatementRow]) -> None:
        """Keep the statements of an event, as the message of the sequence `derived` gives them."""
        before = self._of_event.get(event)
        if event > self._decided and rows and (before is None or derived < before[0].derived):
            self._of_event[event] = list(rows)

    def has_before(self, event: int) -> bool:
        """Whether a statement of an event before this one waits."""
        return bool(self._of_event) and min(self._of_event) < event

    def take(self, *, below: int, floor: int, is_settled: Callable[[int, int], bool]) -> list[StatementRow]:
        """Take out what may be decided now of events before `below`, in the order of the log.

        Every event up to `floor` is processed. `is_settled(event, derived)` says whether no message of the
        event before the one of `derived` can be missing.
        """
        found: list[StatementRow] = []
        for event in sorted(self._of_event):
            is_due = event < below and event <= floor
            if not (is_due and is_settled(event, self._of_event[event][0].derived)):
                break
            found += self._of_event.pop(event)
            self._decided = event
        return found

    def remove(self, ordinals: Container[int]) -> None:
        """Drop the statements of removed memories."""
        for event in list(self._of_event):
            kept = [row for row in self._of_event[event] if row.ordinal not in ordinals]
            if kept:
                self._of_event[event] = kept
            else:
                del self._of_event[event]

    def blank(self, ordinal: int) -> None:
        """Drop the context of a memory's statement."""
        for event, rows in self._of_event.items():
            if any(row.ordinal == ordinal for row in rows):
                self._of_event[event] = [row.blanked() if row.ordinal == ordinal else row for row in rows]

    def forget_derived(self) -> None:
        """The sequences of HELIX_DERIVED say nothing any more."""
        for event, rows in self._of_event.items():
            self._of_event[event] = [replace(row, derived=0) for row in rows]

    def load(self, rows: Sequence[StatementRow], decided: int) -> None:
        """Continue from stored statements."""
        self._decided = decided
        for row in rows:
            self._of_event.setdefault(row.sequence, []).append(row)
