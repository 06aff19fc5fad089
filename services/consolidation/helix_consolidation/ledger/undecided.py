"""Statements whose relations are not decided yet, because an earlier event may still be missing.

Decisions are made in the order of the log, whatever the order of arrival. Of several messages of one event
the first of HELIX_DERIVED gives the statements, so a statement waits until none before its own is missing.

A limited number waits. Beyond it the first ones are decided although an earlier event is missing; statements
of that event are then never decided, as those of any other event up to the last decided one.
"""

from __future__ import annotations

import heapq
from dataclasses import replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from helix_consolidation.statements.statement_row import StatementRow


MOST_WAITING: Final = 10_000
"""Statements that wait at most, about two kilobytes each: in memory, and in a file of the generation."""


class Undecided:
    """Statements by the sequence of their event; while an event is missing, those of all later ones wait.

    So no operation but `rows` and `forget_derived` looks at all of them. After `take` at most `most` wait.
    """

    def __init__(self, *, most: int = MOST_WAITING) -> None:
        self._most = most
        self.decided_early = 0
        """Statements that `take` returned while an earlier event was missing."""
        self._of_event: dict[int, list[StatementRow]] = {}
        self._events: list[int] = []
        """A heap of the events, and of some that are gone."""
        self._event_of: dict[int, int] = {}
        """Ordinal -> its event."""
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
            self._drop(event)
            self._keep(event, rows)

    def has_before(self, event: int) -> bool:
        """Whether a statement of an event before this one waits."""
        first = self._first
        return first is not None and first < event

    def take(
        self, *, below: int, floor: int, has_all_before: Callable[[int, int], bool]
    ) -> list[StatementRow]:
        """Take out what may be decided now of events before `below`, in the order of the log.

        Every event up to `floor` is processed. `has_all_before(event, derived)` says whether no message of
        the event before the one of `derived` can be missing. Beyond `most` statements neither is waited for.
        """
        found: list[StatementRow] = []
        while (event := self._first) is not None and event < below:
            if event > floor or not has_all_before(event, self._of_event[event][0].derived):
                if len(self._event_of) <= self._most:
                    break
                self.decided_early += len(self._of_event[event])
            found += self._drop(event)
            self._decided = event
        return found

    def remove(self, ordinals: Collection[int]) -> None:
        """Drop the statements of removed memories."""
        gone = set(ordinals)
        for event in {self._event_of[ordinal] for ordinal in gone if ordinal in self._event_of}:
            self._keep(event, [row for row in self._drop(event) if row.ordinal not in gone])

    def blank(self, ordinal: int) -> None:
        """Drop the context of a memory's statement."""
        event = self._event_of.get(ordinal)
        if event is not None:
            rows = self._of_event[event]
            self._of_event[event] = [row.blanked() if row.ordinal == ordinal else row for row in rows]

    def forget_derived(self) -> None:
        """The sequences of HELIX_DERIVED say nothing any more."""
        for event, rows in self._of_event.items():
            self._of_event[event] = [replace(row, derived=0) for row in rows]

    def load(self, rows: Sequence[StatementRow], decided: int) -> None:
        """Continue from stored statements."""
        self._decided = decided
        of_event: dict[int, list[StatementRow]] = {}
        for row in rows:
            of_event.setdefault(row.sequence, []).append(row)
        for event, some in of_event.items():
            self._keep(event, some)

    @property
    def _first(self) -> int | None:
        """The first event with a statement."""
        while self._events and self._events[0] not in self._of_event:
            heapq.heappop(self._events)
        return self._events[0] if self._events else None

    def _keep(self, event: int, rows: Sequence[StatementRow]) -> None:
        if rows:
            self._of_event[event] = list(rows)
            self._event_of.update((row.ordinal, event) for row in rows)
            heapq.heappush(self._events, event)

    def _drop(self, event: int) -> list[StatementRow]:
        rows = self._of_event.pop(event, [])
        for row in rows:
            self._event_of.pop(row.ordinal, None)
        return rows
