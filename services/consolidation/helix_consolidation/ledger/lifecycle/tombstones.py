"""Tombstones: what was forgotten, erased, replaced or withdrawn, kept for rows that arrive later.

Lifecycle actions are recorded here in the order of the log; rows arrive in any order and are checked on
arrival. A selector applies to rows with a lower stream sequence than its event that the event's actor reaches
(`event_reach`). Selectors and actors are kept as unsalted 63-bit hashes: after an erasure no name of a user
or session remains, but whoever guesses a name can recognise its hash. The tenant is part of every hash, so
nothing reaches across tenants.

Every change is a fixed-size record of `tombstone_log`; a generation stores the records since the last one.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from helix_consolidation.ledger.event_reach import NOTHING, TENANT, Actor, value_code
from helix_consolidation.ledger.lifecycle.tombstone_log import REMEMBERED_EVENTS, Record, Table
from helix_consolidation.ledger.sequences import from_log_position, log_position
from helix_shared.edges import LARGEST_SEQUENCE
from helix_shared.identity import memory_id

if TYPE_CHECKING:
    from collections.abc import Iterable

    from helix_consolidation.ledger.event_reach import MemoryFacts

NO_ORDINAL: Final = -1
MOST_ACCESSES: Final = 1_000_000_000
"""At this number a count of accesses stops."""


@dataclass(frozen=True, slots=True)
class ForgetRecord:
    """A forget or restore of one selector; `at` is server time in microseconds."""

    sequence: int
    is_hidden: bool
    at: int
    erases: bool = False
    """Whether it is an erasure that waits; such a record is never stored."""


class ErasedMemory(NamedTuple):
    """What is kept of an erased memory: codes and stream sequences."""

    sequence: int
    """Stream sequence of the row."""
    erased_at: int
    """Sequence of the event that erased it."""
    actor: int
    """Code of an actor with the user and principals that could recall it."""


@dataclass(frozen=True, slots=True)
class ErasedCorrection:
    """What an erased correction corrected, and its position in the log."""

    corrects: int
    ordinal: int
    """Ordinal of what it corrected; `NO_ORDINAL`: that did not exist."""
    sequence: int
    piece: int


@dataclass(frozen=True, slots=True)
class Usage:
    """Accesses of one memory and feedback on it; only ever added up. Times are microseconds, 0: none."""

    helpful: int = 0
    unhelpful: int = 0
    accesses: int = 0
    last_at: int = 0
    """Time of the last access."""
    feedback_at: int = 0
    """Time of the last feedback."""

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.helpful + other.helpful,
            self.unhelpful + other.unhelpful,
            self.accesses + other.accesses,
            max(self.last_at, other.last_at),
            max(self.feedback_at, other.feedback_at),
        )


@dataclass(slots=True)
class Tombstones:
    """The tombstones, kept longer than the rows they are about; keys are codes, see `event_reach`."""

    actors: dict[int, Actor] = field(default_factory=lambda: {TENANT.code: TENANT})
    """Actor code -> actor."""
    forgotten: dict[int, dict[int, ForgetRecord]] = field(default_factory=dict)
    """Selector -> actor code -> the last forget or restore."""
    erased: dict[int, dict[int, int]] = field(default_factory=dict)
    """Selector -> actor code -> sequence of the last erasure."""
    replaced: dict[int, dict[int, int]] = field(default_factory=dict)
    """Document -> actor code -> sequence of the last version or deletion."""
    erased_memories: dict[int, ErasedMemory] = field(default_factory=dict)
    """Erased memories by their code."""
    withdrawn: set[int] = field(default_factory=set)
    """Memories that the latest memories message of their event no longer holds."""
    erased_corrections: dict[int, ErasedCorrection] = field(default_factory=dict)
    """Erased correction -> what it corrected."""
    erased_corrections_of: dict[int, set[int]] = field(default_factory=dict)
    """Corrected memory -> its erased corrections."""
    undone: dict[int, dict[tuple[int, int], int]] = field(default_factory=dict)
    """Memory -> actor code and the other memory (`NOTHING`: any) -> sequence of the last undo."""
    executed: OrderedDict[int, int] = field(default_factory=OrderedDict)
    """Executed events -> sequence; the latest of the log are kept."""
    repeats: dict[int, dict[int, int]] = field(default_factory=dict)
    """Event -> sequences of its publications that do not count -> their sessions (`NOTHING`: not known).

    An erasure removes them from the log, and the quotations of them from the memories of their sessions.
    """
    changes: list[Record] = field(default_factory=list, compare=False)
    """Since the last `take_changes`."""

    def is_repeat(self, event: int, sequence: int) -> bool:
        """Whether this event id was executed under a lower sequence."""
        return self.executed.get(event, sequence) < sequence

    def record_executed(self, event: int, sequence: int) -> None:
        """Record an executed event; calls come in the order of the log."""
        self._note(Record(Table.EXECUTED, event, sequence=sequence))

    def record_forget(self, selector: int, actor: Actor, record: ForgetRecord) -> None:
        """Record a forget or a restore."""
        code, flag = self._actor(actor), int(record.is_hidden)
        self._note(Record(Table.FORGOTTEN, selector, code, record.sequence, record.at, flag))

    def record_erasure(self, selector: int, actor: Actor, sequence: int) -> None:
        """Record the erasure of a memory, session, document or user."""
        self._note(Record(Table.ERASED, selector, self._actor(actor), sequence))

    def record_replacement(self, document: int, actor: Actor, sequence: int) -> None:
        """Record that pieces of a document older than `sequence` are superseded; the highest one counts."""
        if sequence > self.replaced.get(document, {}).get(actor.code, 0):
            self._note(Record(Table.REPLACED, document, self._actor(actor), sequence))

    def record_undo(self, memory: int, other: int, actor: Actor, sequence: int) -> None:
        """Record that the relations of a memory, or those to one `other`, are taken back."""
        self._note(Record(Table.UNDONE, memory, self._actor(actor), sequence, other))

    def record_repeat(self, event: int, sequence: int, session: int) -> None:
        """Record that an event was published at `sequence` too, where that publication does not count."""
        known = self.repeats.get(event, {})
        if sequence not in known or known[sequence] == NOTHING != session:
            self._note(Record(Table.REPEATS, event, sequence, sequence, session))

    def is_undone(self, newer: MemoryFacts, older: int) -> bool:
        """Whether an undo after `newer` reaches it and takes back its relation to the memory `older`."""
        for memory, other in ((newer.memory, older), (older, newer.memory)) if self.undone else ():
            for (actor, named), sequence in self.undone.get(memory, {}).items():
                is_after = sequence > newer.stream_sequence
                if is_after and named in (NOTHING, other) and self.actors[actor].reaches(newer.visibility):
                    return True
        return False

    def record_erased_memory(
        self, memory: MemoryFacts, erased_at: int, correction: ErasedCorrection | None = None
    ) -> None:
        """Record that the event at `erased_at` erased a memory; `correction` if it was one."""
        code = memory.memory
        actor = self._actor(Actor(memory.visibility.owner, memory.visibility.audience))
        self._note(Record(Table.ERASED_MEMORIES, code, actor, memory.stream_sequence, erased_at, 1))
        if correction is not None:
            position = log_position(correction.sequence, correction.piece)
            self._note(
                Record(Table.ERASED_CORRECTIONS, code, correction.corrects, position, correction.ordinal)
            )

    def revoke_erased_memory(self, memory: int) -> None:
        """Undo `record_erased_memory`: the erased rows were of a later publication, which does not count."""
        if memory in self.erased_memories:
            self._note(Record(Table.ERASED_MEMORIES, memory))
        if memory in self.erased_corrections:
            self._note(Record(Table.ERASED_CORRECTIONS, memory))

    def record_withdrawn(self, memory: int, *, withdrawn: bool) -> None:
        """Record whether the latest memories message of its event lacks a memory."""
        if (memory in self.withdrawn) != withdrawn:
            self._note(Record(Table.WITHDRAWN, memory, flag=int(withdrawn)))

    def is_erased(self, memory: int, sequence: int) -> bool:
        """Whether a row of this memory of this stream sequence, or of an earlier one, was erased."""
        erased = self.erased_memories.get(memory)
        return erased is not None and erased.sequence <= sequence

    def is_event_erased(self, tenant_id: str, event_id: str, sequence: int = LARGEST_SEQUENCE) -> bool:
        """Whether the event was erased as published at `sequence`, or before; its first piece tells.

        An erasure takes all memories of an event with it.
        """
        if not (self.erased_memories and event_id):
            return False
        first = value_code(tenant_id, "memory", memory_id(tenant_id, event_id, 0))
        return self.is_erased(first, sequence)

    def erased_at(self, memory: MemoryFacts) -> int:
        """Sequence of the last erasure that reaches a memory by any of its selectors; 0: none."""
        return self._last_reaching(self.erased, memory, memory.selectors)

    def is_replaced(self, memory: MemoryFacts) -> bool:
        """Whether a later version, or the deletion, of its document reaches a memory."""
        return self._last_reaching(self.replaced, memory, (memory.document,)) > 0

    def forget_records(self, memory: MemoryFacts, selector: int) -> list[ForgetRecord]:
        """Forgets and restores of one selector that reach a memory."""
        return [
            record
            for actor, record in self.forgotten.get(selector, {}).items()
            if record.sequence > memory.stream_sequence and self.actors[actor].reaches(memory.visibility)
        ]

    def take_changes(self) -> list[Record]:
        """The records since the last call."""
        changes, self.changes = self.changes, []
        return changes

    def add(self, record: Record) -> None:
        """Take over a record of another generation."""
        self._note(record)

    def restore(self, record: Record) -> None:
        """Apply a stored record; of records with one key the last applied counts."""
        by_actor = {Table.ERASED: self.erased, Table.REPLACED: self.replaced}
        if record.table in by_actor:
            by_actor[record.table].setdefault(record.key, {})[record.scope] = record.sequence
        elif record.table == Table.FORGOTTEN:
            forget = ForgetRecord(record.sequence, bool(record.flag), record.value)
            self.forgotten.setdefault(record.key, {})[record.scope] = forget
        elif record.table == Table.ACTORS:
            before = self.actors.get(record.key, Actor(record.scope))
            added = frozenset((record.value,) if record.value else ())
            self.actors[record.key] = Actor(before.user, before.principals | added, bool(record.flag))
        elif record.table == Table.UNDONE:
            self.undone.setdefault(record.key, {})[record.scope, record.value] = record.sequence
        elif record.table == Table.REPEATS:
            self.repeats.setdefault(record.key, {})[record.sequence] = record.value
        elif record.table == Table.EXECUTED:
            self.executed[record.key] = record.sequence
            self.executed.move_to_end(record.key)
            if len(self.executed) > REMEMBERED_EVENTS:
                self.executed.popitem(last=False)
        else:
            self._restore_memory(record)

    def _restore_memory(self, record: Record) -> None:
        """Apply a record about one memory."""
        if record.table == Table.WITHDRAWN:
            (self.withdrawn.add if record.flag else self.withdrawn.discard)(record.key)
        elif record.table == Table.ERASED_CORRECTIONS:
            self._restore_correction(record)
        elif record.flag:
            self.erased_memories[record.key] = ErasedMemory(record.sequence, record.value, record.scope)
        else:
            self.erased_memories.pop(record.key, None)

    def _restore_correction(self, record: Record) -> None:
        """Apply what an erased correction corrected; a `scope` of 0 revokes an earlier record."""
        before = self.erased_corrections.pop(record.key, None)
        if before is not None:
            others = self.erased_corrections_of[before.corrects]
            others.discard(record.key)
            if not others:
                del self.erased_corrections_of[before.corrects]
        if record.scope:
            position = from_log_position(record.sequence)
            self.erased_corrections[record.key] = ErasedCorrection(record.scope, record.value, *position)
            self.erased_corrections_of.setdefault(record.scope, set()).add(record.key)

    def _note(self, record: Record) -> None:
        self.restore(record)
        self.changes.append(record)

    def _actor(self, actor: Actor) -> int:
        """Code of an actor, which is recorded if it is new."""
        code = actor.code
        if code not in self.actors:
            for principal in (0, *sorted(actor.principals)):
                self._note(Record(Table.ACTORS, code, actor.user, 0, principal, int(actor.is_own)))
        return code

    def _last_reaching(
        self, table: dict[int, dict[int, int]], memory: MemoryFacts, selectors: Iterable[int]
    ) -> int:
        reaching = (
            sequence
            for selector in selectors
            if selector
            for actor, sequence in table.get(selector, {}).items()
            if sequence > memory.stream_sequence
            and self.actors[actor].reaches(memory.visibility, memory.user)
        )
        return max(reaching, default=0)
