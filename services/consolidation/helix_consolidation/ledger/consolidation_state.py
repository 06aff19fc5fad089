"""The whole state of the writer; `stores.state_files` saves it, `stores.load` restores it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from helix_consolidation.ledger.extracted_index import ExtractedIndex
from helix_consolidation.ledger.ledger import Ledger
from helix_consolidation.ledger.lifecycle.erasures import Erasures
from helix_consolidation.ledger.lifecycle.pending_actions import PendingActions
from helix_consolidation.ledger.lifecycle.tombstones import Tombstones
from helix_consolidation.ledger.near_duplicates import NearDuplicates
from helix_consolidation.ledger.relation_table import RelationTable
from helix_consolidation.ledger.sequences import ProcessedSequences
from helix_consolidation.ledger.undecided import Undecided
from helix_consolidation.statements.statement_index import StatementIndex

if TYPE_CHECKING:
    from collections.abc import Mapping

    from helix_consolidation.ledger.lifecycle.tombstone_log import TombstoneLog

STATEMENTS: Final = "statements"
"""The edge of extracted statements."""


@dataclass(frozen=True, slots=True)
class Model:
    """The encoder of the vectors of a generation."""

    name: str
    checksum: str
    dimensions: int

    @property
    def id(self) -> str:
        """As workers state it, `name@checksum`."""
        return f"{self.name}@{self.checksum}" if self.name else self.checksum

    def __str__(self) -> str:
        """As error messages name it."""
        return f"model {self.name}@{self.checksum} ({self.dimensions} dimensions)"


@dataclass(slots=True)
class ConsolidationState:
    """The state that all messages so far have led to."""

    ledger: Ledger = field(default_factory=Ledger)
    near: NearDuplicates = field(default_factory=NearDuplicates)
    statements: StatementIndex = field(default_factory=StatementIndex)
    undecided: Undecided = field(default_factory=Undecided)
    relations: RelationTable = field(default_factory=RelationTable)
    extracted: ExtractedIndex = field(default_factory=ExtractedIndex)
    tombstones: Tombstones = field(default_factory=Tombstones)
    pending: PendingActions = field(default_factory=PendingActions)
    erasures: Erasures = field(default_factory=Erasures)
    applied: ProcessedSequences = field(default_factory=ProcessedSequences)
    """Sequences of HELIX_EVENTS."""
    derived: ProcessedSequences = field(default_factory=ProcessedSequences)
    """Sequences of HELIX_DERIVED."""
    postponed: dict[int, int] = field(default_factory=dict)
    """Messages of HELIX_DERIVED that were delivered and wait for others: sequence -> event."""
    unstored_dead_letters: set[int] = field(default_factory=set)
    """Refused sequences of HELIX_DERIVED whose dead letter is not stored yet; saved as not processed."""
    derived_stream: str = ""
    """Creation time of HELIX_DERIVED; its sequences mean nothing in a stream created at another time."""
    latest_derived: dict[tuple[str, int], int] = field(default_factory=dict)
    """Latest derived sequence per edge and event, or per row; those up to `derived.floor` are left out."""
    provisional: dict[int, set[int]] = field(default_factory=dict)
    """Event above `applied.floor` -> its rows that a later event's message contained, and its own has not."""
    access_stream: str = ""
    """Creation time of HELIX_ACCESS."""
    accessed: int = 0
    """Sequence of HELIX_ACCESS up to which accesses are counted; one that comes again below it is not."""
    erasure_generation: int = 0
    """Number of the last generation published after an erasure; 0: there was none."""
    made_with: dict[str, set[str]] = field(default_factory=dict)
    """Versions and settings of all that was applied, by name (`stores.made_with`); the manifest has them."""
    are_adapters_unchecked: bool = False
    """Whether something was erased since learned adapters were compared with what is erased; not saved."""
    moved: Mapping[str, int] = field(default_factory=dict)
    """By tenant that was moved here, the last event whose statements were decided by the move; not saved."""
    model: Model | None = None
    log: TombstoneLog | None = None

    def is_derived(self, ordinal: int) -> bool:
        """Whether a memory is a statement that was derived or extracted from a verbatim memory."""
        return self.ledger.sources.of(ordinal) is not None or self.extracted.source_of(ordinal) is not None

    def has_all_before(self, event: int, derived: int) -> bool:
        """Whether no message of the event that comes before `derived` in HELIX_DERIVED can be missing.

        All messages before it were applied, or delivered and found to be of other events.
        """
        if derived <= self.derived.floor:
            return True
        others = {sequence for sequence, other in self.postponed.items() if other != event}
        return derived <= self.derived.floor_with(others)

    def is_latest(self, kind: str, key: int, sequence: int) -> bool:
        """Whether no derived message of a higher sequence was about this; remembers `sequence` if so.

        A message up to `derived.floor` is never folded twice, so only higher sequences are remembered.
        """
        if self.latest_derived.get((kind, key), 0) > sequence:
            return False
        self.latest_derived[kind, key] = sequence
        return True

    def is_out_of_order(self, *, event: int, derived: int, edge: str = "memories") -> bool:
        """Whether an event before `event`, or a derived message before `derived`, is not processed yet.

        Statements are extracted from the events and not from their memories, so they wait for `event` itself:
        ingest may be later than the language model.
        """
        awaited = event if edge == STATEMENTS else event - 1
        return awaited > self.applied.floor or derived > self.derived.floor + 1

    def set_derived_stream(self, created: str) -> None:
        """Drop the sequences of HELIX_DERIVED if the stream was created again."""
        if self.derived_stream not in ("", created):
            self.forget_derived()
        self.derived_stream = created

    def forget_derived(self) -> None:
        """Drop the sequences of HELIX_DERIVED: those to come are of another numbering."""
        self.derived, self.latest_derived, self.postponed = ProcessedSequences(), {}, {}
        self.undecided.forget_derived()

    def truncate_derived(self, last: int) -> None:
        """Drop the sequences of HELIX_DERIVED above `last`: it lost their messages, and gives them again."""
        kept = self.derived.up_to(last)
        self.forget_derived()
        self.derived = kept

    def set_access_stream(self, created: str) -> None:
        """Count from the first access if the stream was created again."""
        if self.access_stream != created:
            self.access_stream, self.accessed = created, 0

    def prune(self) -> None:
        """Drop entries that no later message can refer to."""
        floor = self.derived.floor
        self.postponed = {d: event for d, event in self.postponed.items() if d not in self.derived}
        self.latest_derived = {key: last for key, last in self.latest_derived.items() if last > floor}
