"""What was forgotten, erased, replaced or withdrawn, kept for rows that arrive late.

Lifecycle actions are recorded here in the order of the log; rows arrive in any order and are checked on
arrival. A selector applies to rows with a lower stream sequence than its event, within the reach of the
event's actor (`event_reach`). Selectors and actors are kept as unsalted 63-bit hashes: after an erasure no
name of a user or session remains, but whoever guesses a name can recognise its hash. The tenant is part of
every hash, so nothing reaches across tenants.

Every change is a fixed-size record of `tombstone_log`; a generation stores the records since the last one.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from helix_consolidation.ledger.event_reach import TENANT, Actor, reaches
from helix_consolidation.ledger.near_duplicates import from_log_position, log_position
from helix_consolidation.ledger.tombstone_log import REMEMBERED_EVENTS, Record, Table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from helix_consolidation.ledger.memory_status import MemoryFacts

NO_ORDINAL: Final = -1
"""An event has fewer pieces."""


@dataclass(frozen=True, slots=True)
class ForgetRecord:
    """A forget or restore of one selector; `at` is server time in microseconds."""

    sequence: int
    is_hidden: bool
    at: int


class ErasedMemory(NamedTuple):
    """What is left of an erased memory: codes and places in the log."""

    sequence: int
    """Stream sequence of the row."""
    erased_at: int
    """Sequence of the event that erased it."""
    seen_by: int
    """Code of who could recall it, as a scope."""


@dataclass(frozen=True, slots=True)
class ErasedCorrection:
    """What an erased correction corrected, and where it stood in the log."""

    corrects: int
    ordinal: int
    """Ordinal of what it corrected; `NO_ORDINAL`: that was not there."""
    sequence: int
    piece: int


@dataclass(frozen=True, slots=True)
class Usage:
    """What feedback says of one memory; adding is the only thing done to it."""

    helpful: int = 0
    unhelpful: int = 0
    accesses: int = 0
    last_at: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.helpful + other.helpful,
            self.unhelpful + other.unhelpful,
            self.accesses + other.accesses,
            max(self.last_at, other.last_at),
        )


@dataclass(slots=True)
class Tombstones:
    """All that outlives the rows it speaks of; keys are codes, see `reach`."""

    scopes: dict[int, Actor] = field(default_factory=lambda: {TENANT.code: TENANT})
    """Scope code -> scope."""
    forgotten: dict[int, dict[int, ForgetRecord]] = field(default_factory=dict)
    """Selector -> scope code -> the last forget or restore."""
    erased: dict[int, dict[int, int]] = field(default_factory=dict)
    """Selector -> scope code -> sequence of the last erasure."""
    replaced: dict[int, dict[int, int]] = field(default_factory=dict)
    """Document -> scope code -> sequence of the last version or deletion."""
    dropped: dict[int, ErasedMemory] = field(default_factory=dict)
    """By erased memory."""
    withdrawn: set[int] = field(default_factory=set)
    """Memories that the latest answer to their event does not hold any more."""
    erased_corrections: dict[int, ErasedCorrection] = field(default_factory=dict)
    """Erased correction -> what it corrected."""
    heirs: dict[int, set[int]] = field(default_factory=dict)
    """Corrected memory -> its erased corrections."""
    seen: OrderedDict[int, int] = field(default_factory=OrderedDict)
    """Events carried out -> sequence; the latest of the log are kept."""
    changes: list[Record] = field(default_factory=list, compare=False)
    """Since they were last taken by `take_changes`."""

    def is_repeat(self, event: int, sequence: int) -> bool:
        """Whether this event id was carried out under a lower sequence."""
        return self.seen.get(event, sequence) < sequence

    def see(self, event: int, sequence: int) -> None:
        """Remember an event that is carried out; calls come in the order of the log."""
        self._note(Record(Table.SEEN, event, sequence=sequence))

    def forget(self, selector: int, scope: Actor, verdict: ForgetRecord) -> None:
        """Remember a forget or a restore."""
        code, flag = self._scope(scope), int(verdict.is_hidden)
        self._note(Record(Table.FORGOTTEN, selector, code, verdict.sequence, verdict.at, flag))

    def erase(self, selector: int, scope: Actor, sequence: int) -> None:
        """Remember the erasure of a memory, session, document or user."""
        self._note(Record(Table.ERASED, selector, self._scope(scope), sequence))

    def replace(self, document: int, scope: Actor, sequence: int) -> None:
        """Remember that pieces of a document older than `sequence` are superseded."""
        self._note(Record(Table.REPLACED, document, self._scope(scope), sequence))

    def drop(self, row: MemoryFacts, erased_at: int, ancestor: ErasedCorrection | None = None) -> None:
        """Remember that the event at `erased_at` erased a row."""
        memory, seen_by = row.memory, Actor(row.visibility.owner, row.visibility.audience)
        self._note(Record(Table.DROPPED, memory, self._scope(seen_by), row.stream_sequence, erased_at, 1))
        if ancestor is not None:
            place = log_position(ancestor.sequence, ancestor.piece)
            self._note(Record(Table.ANCESTORS, memory, ancestor.corrects, place, ancestor.ordinal))

    def allow(self, memory: int) -> None:
        """Take `drop` back: what was erased was a later publication, which counts for nothing."""
        if memory in self.dropped:
            self._note(Record(Table.DROPPED, memory))
        if memory in self.erased_corrections:
            self._note(Record(Table.ANCESTORS, memory))

    def withdraw(self, memory: int, *, withdrawn: bool) -> None:
        """Remember whether the latest answer to its event holds a memory."""
        if (memory in self.withdrawn) != withdrawn:
            self._note(Record(Table.WITHDRAWN, memory, flag=int(withdrawn)))

    def is_erased(self, memory: int, sequence: int) -> bool:
        """Whether a row of this memory, of this stream sequence or an earlier one, was erased."""
        dropped = self.dropped.get(memory)
        return dropped is not None and dropped.sequence <= sequence

    def erased_at(self, row: MemoryFacts) -> int:
        """The last erasure that reaches a row by its id or by anything it belongs to; 0: none."""
        return self._reached_at(self.erased, row, row.selectors)

    def is_replaced(self, row: MemoryFacts) -> bool:
        """Whether a later version, or the deletion, of its document reaches a row."""
        return self._reached_at(self.replaced, row, (row.document,)) > 0

    def verdicts(self, row: MemoryFacts, selector: int) -> list[ForgetRecord]:
        """Forgets and restores of one selector that reach a row."""
        return [
            verdict
            for scope, verdict in self.forgotten.get(selector, {}).items()
            if verdict.sequence > row.stream_sequence and reaches(self.scopes[scope], row.visibility)
        ]

    def take_changes(self) -> list[Record]:
        """What changed since the last call."""
        changes, self.changes = self.changes, []
        return changes

    def restore(self, record: Record) -> None:
        """Take over a stored record; of records with one key the last one given counts."""
        by_scope = {Table.ERASED: self.erased, Table.REPLACED: self.replaced}
        if record.table in by_scope:
            by_scope[record.table].setdefault(record.key, {})[record.scope] = record.sequence
        elif record.table == Table.FORGOTTEN:
            verdict = ForgetRecord(record.sequence, bool(record.flag), record.value)
            self.forgotten.setdefault(record.key, {})[record.scope] = verdict
        elif record.table == Table.SCOPES:
            known = self.scopes.get(record.key, Actor(record.scope))
            added = frozenset((record.value,) if record.value else ())
            self.scopes[record.key] = Actor(known.user, known.principals | added, bool(record.flag))
        elif record.table == Table.SEEN:
            self.seen[record.key] = record.sequence
            self.seen.move_to_end(record.key)
            if len(self.seen) > REMEMBERED_EVENTS:
                self.seen.popitem(last=False)
        else:
            self._restore_memory(record)

    def _restore_memory(self, record: Record) -> None:
        """A record of one memory that is gone."""
        if record.table == Table.WITHDRAWN:
            (self.withdrawn.add if record.flag else self.withdrawn.discard)(record.key)
        elif record.table == Table.ANCESTORS:
            self._restore_ancestor(record)
        elif record.flag:
            self.dropped[record.key] = ErasedMemory(record.sequence, record.value, record.scope)
        else:
            self.dropped.pop(record.key, None)

    def _restore_ancestor(self, record: Record) -> None:
        """What an erased correction corrected; nothing (0) takes an earlier record back."""
        before = self.erased_corrections.pop(record.key, None)
        if before is not None:
            heirs = self.heirs[before.corrects]
            heirs.discard(record.key)
            if not heirs:
                del self.heirs[before.corrects]
        if record.scope:
            sequence, piece = from_log_position(record.sequence)
            self.erased_corrections[record.key] = ErasedCorrection(
                record.scope, record.value, sequence, piece
            )
            self.heirs.setdefault(record.scope, set()).add(record.key)

    def _note(self, record: Record) -> None:
        self.restore(record)
        self.changes.append(record)

    def _scope(self, scope: Actor) -> int:
        code = scope.code
        if code not in self.scopes:
            for principal in (0, *sorted(scope.principals)):
                self._note(Record(Table.SCOPES, code, scope.user, 0, principal, int(scope.is_own)))
        return code

    def _reached_at(
        self, table: dict[int, dict[int, int]], row: MemoryFacts, selectors: Iterable[int]
    ) -> int:
        reaching = (
            sequence
            for selector in selectors
            if selector
            for scope, sequence in table.get(selector, {}).items()
            if sequence > row.stream_sequence and reaches(self.scopes[scope], row.visibility, row.user)
        )
        return max(reaching, default=0)
