"""What folding works on: everything known, and the changes of one batch so far."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from helix_consolidation.folding.changes import Changes
from helix_consolidation.folding.duplicates import compare, follow
from helix_consolidation.folding.version_family import members_of, place_of, statuses
from helix_consolidation.ledger.ledger import Ledger
from helix_consolidation.ledger.near_duplicates import NearDuplicates
from helix_consolidation.ledger.pending_actions import PendingActions
from helix_consolidation.ledger.sequences import ProcessedSequences
from helix_consolidation.ledger.tombstones import NO_ORDINAL, ErasedCorrection, Tombstones

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from helix_consolidation.folding.incoming_rows import Model
    from helix_consolidation.ledger.pending_actions import LifecycleAction
    from helix_consolidation.ledger.tombstone_log import TombstoneLog


@dataclass(slots=True)
class ConsolidationState:
    """Everything the writer knows; saved with a generation, and loaded from it."""

    ledger: Ledger = field(default_factory=Ledger)
    near: NearDuplicates = field(default_factory=NearDuplicates)
    tombstones: Tombstones = field(default_factory=Tombstones)
    pending: PendingActions = field(default_factory=PendingActions)
    applied: ProcessedSequences = field(default_factory=ProcessedSequences)
    """Sequences of HELIX_EVENTS."""
    derived: ProcessedSequences = field(default_factory=ProcessedSequences)
    """Sequences of HELIX_DERIVED."""
    unstored_dead_letters: set[int] = field(default_factory=set)
    """Refused ones of HELIX_DERIVED whose dead letter is not stored yet: not answered for who starts anew."""
    derived_stream: str = ""
    """When HELIX_DERIVED was created: its sequences mean nothing in another one."""
    latest_derived: dict[tuple[str, int], int] = field(default_factory=dict)
    """Derived sequence that counted last for an event or a row; those up to `derived.floor` are left out."""
    provisional: dict[int, set[int]] = field(default_factory=dict)
    """Unanswered event -> its rows that came with the answer to a later turn."""
    erasure_generation: int = 0
    """Number of the last generation that was made without text the one before it held; 0: there was none."""
    model: Model | None = None
    log: TombstoneLog | None = None

    def is_newest(self, kind: str, key: int, sequence: int) -> bool:
        """Whether no derived message of a higher sequence spoke of this before; remembers this one.

        A message up to `derived.floor` is never folded twice, so only what lies above has to be remembered.
        """
        if self.latest_derived.get((kind, key), 0) > sequence:
            return False
        self.latest_derived[kind, key] = sequence
        return True

    def set_derived_stream(self, created: str) -> None:
        """Forget the sequences of HELIX_DERIVED if the stream was made anew: what they were means nothing."""
        if self.derived_stream not in ("", created):
            self.derived, self.latest_derived = ProcessedSequences(), {}
        self.derived_stream = created

    def tidy(self) -> None:
        """Let go of what no message can ask for any more."""
        floor = self.derived.floor
        self.latest_derived = {
            key: sequence for key, sequence in self.latest_derived.items() if sequence > floor
        }


@dataclass(frozen=True, slots=True)
class FoldContext:
    """One batch on its way into `changes`; `now` is in microseconds."""

    state: ConsolidationState
    changes: Changes
    now: int
    stored: Callable[[int, Sequence[str]], Mapping[str, Any]]
    """Values of a stored row by ordinal and columns."""

    def find(self, tenant_id: str, memory_id: str) -> int | None:
        """Ordinal of a memory of this tenant; another tenant's id finds nothing."""
        ordinal = self.state.ledger.find(memory_id)
        return None if ordinal is None or self.state.ledger.tenant_id(ordinal) != tenant_id else ordinal

    def values_of(self, ordinal: int, columns: Sequence[str]) -> Mapping[str, Any]:
        """Values of a memory's row: as it arrived in this batch, else as it is stored."""
        if ordinal not in self.changes.incoming_rows:
            return self.stored(ordinal, columns)
        batch, row = self.changes.incoming_rows[ordinal]
        return {name: self.changes.batches[batch][name][row].as_py() for name in columns}

    def update_status(self, ordinals: Iterable[int]) -> None:
        """Ask how these memories stand, and the versions that they change; what is new will be written."""
        state, asked = self.state, set(ordinals)
        for start in dict.fromkeys(place_of(state, ordinal) for ordinal in sorted(asked)):
            for member, found in statuses(state, start, self.now, asked).items():
                if found != state.ledger.status(member):
                    state.ledger.record_status(member, found)
                    self.changes.update_status(member)

    def remove(self, ordinals: Iterable[int], *, erased_at: int = 0) -> None:
        """Take memories out of every store; those that the event at `erased_at` erased never come back."""
        ledger, near, removed = self.state.ledger, self.state.near, sorted(set(ordinals))
        relatives = set[int]()
        for ordinal in removed:
            if ordinal not in relatives:
                relatives.update(members_of(self.state, ordinal))
        repeats, heirs = set(ledger.duplicates_of(removed)), set[int]()
        for ordinal in removed:
            code = ledger.code(ordinal)
            self.state.tombstones.withdraw(code, withdrawn=False)
            if erased_at:
                row, ancestor = ledger.memory_facts(ordinal), _ancestor(self.state, ordinal)
                self.state.tombstones.drop(row, erased_at, ancestor)
            self.state.provisional.get(ledger.sequences(ordinal)[0], set()).discard(ordinal)
            heirs |= near.forget(ordinal)
            ledger.erase(ordinal)
            self.changes.erase(ordinal)
        compare(self, sorted(repeats.difference(removed)))
        follow(self, sorted(heirs.difference(removed)))
        self.update_status(sorted(relatives.difference(removed)))

    def reached(self, action: LifecycleAction) -> list[int]:
        """Memories that an act reaches."""
        ledger = self.state.ledger
        if action.selector_kind == "memory":
            named = (self.find(action.tenant_id, memory_id) for memory_id in action.memory_ids)
            found = [ordinal for ordinal in named if ordinal is not None]
        else:
            found = [
                ordinal
                for code in action.selectors
                for ordinal in ledger.selected(action.selector_kind, code, before=action.sequence)
            ]
        return [ordinal for ordinal in found if action.reaches(ledger.memory_facts(ordinal))]


def _ancestor(state: ConsolidationState, ordinal: int) -> ErasedCorrection | None:
    """What a memory corrects, in the form that outlives it."""
    corrects, corrected = state.ledger.corrected_by(ordinal)
    where = NO_ORDINAL if corrected is None else corrected
    return ErasedCorrection(corrects, where, *state.ledger.order(ordinal)) if corrects else None
