"""What folding works on: everything known, and the changes of one batch so far."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from helix_consolidation.folding.changes import Changes
from helix_consolidation.folding.families import members_of, place_of, standings
from helix_consolidation.folding.repeats import compare, follow
from helix_consolidation.ledger.acts import Pending
from helix_consolidation.ledger.ledger import Ledger
from helix_consolidation.ledger.relate import NearDuplicates
from helix_consolidation.ledger.sequences import AnsweredSequences
from helix_consolidation.ledger.tombstones import NO_ORDINAL, Ancestor, Tombstones

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from helix_consolidation.folding.arrivals import Model
    from helix_consolidation.ledger.acts import Act
    from helix_consolidation.ledger.tombstone_log import TombstoneLog


@dataclass(slots=True)
class Known:
    """Everything the writer knows; saved with a generation, and loaded from it."""

    ledger: Ledger = field(default_factory=Ledger)
    near: NearDuplicates = field(default_factory=NearDuplicates)
    tombstones: Tombstones = field(default_factory=Tombstones)
    pending: Pending = field(default_factory=Pending)
    applied: AnsweredSequences = field(default_factory=AnsweredSequences)
    """Sequences of HELIX_EVENTS."""
    derived: AnsweredSequences = field(default_factory=AnsweredSequences)
    """Sequences of HELIX_DERIVED."""
    unfiled: set[int] = field(default_factory=set)
    """Refused ones of HELIX_DERIVED whose dead letter is not stored yet: not answered for who starts anew."""
    derived_stream: str = ""
    """When HELIX_DERIVED was created: its sequences mean nothing in another one."""
    recent: dict[tuple[str, int], int] = field(default_factory=dict)
    """Derived sequence that counted last for an event or a row; those up to `derived.floor` are left out."""
    provisional: dict[int, set[int]] = field(default_factory=dict)
    """Unanswered event -> its rows that came with the answer to a later turn."""
    erasure: int = 0
    """Number of the last generation that was made without text the one before it held; 0: there was none."""
    model: Model | None = None
    log: TombstoneLog | None = None

    def is_newest(self, kind: str, key: int, sequence: int) -> bool:
        """Whether no derived message of a higher sequence spoke of this before; remembers this one.

        A message up to `derived.floor` is never folded twice, so only what lies above has to be remembered.
        """
        if self.recent.get((kind, key), 0) > sequence:
            return False
        self.recent[kind, key] = sequence
        return True

    def know_derived_stream(self, created: str) -> None:
        """Forget the sequences of HELIX_DERIVED if the stream was made anew: what they were means nothing."""
        if self.derived_stream not in ("", created):
            self.derived, self.recent = AnsweredSequences(), {}
        self.derived_stream = created

    def tidy(self) -> None:
        """Let go of what no message can ask for any more."""
        floor = self.derived.floor
        self.recent = {key: sequence for key, sequence in self.recent.items() if sequence > floor}


@dataclass(frozen=True, slots=True)
class Folding:
    """One batch on its way into `changes`; `now` is in microseconds."""

    known: Known
    changes: Changes
    now: int
    stored: Callable[[int, Sequence[str]], Mapping[str, Any]]
    """Values of a stored row by ordinal and columns."""

    def find(self, tenant_id: str, memory_id: str) -> int | None:
        """Ordinal of a memory of this tenant; another tenant's id finds nothing."""
        ordinal = self.known.ledger.find(memory_id)
        return None if ordinal is None or self.known.ledger.tenant_id(ordinal) != tenant_id else ordinal

    def values_of(self, ordinal: int, columns: Sequence[str]) -> Mapping[str, Any]:
        """Values of a memory's row: as it arrived in this batch, else as it is stored."""
        if ordinal not in self.changes.arrivals:
            return self.stored(ordinal, columns)
        batch, row = self.changes.arrivals[ordinal]
        return {name: self.changes.batches[batch][name][row].as_py() for name in columns}

    def restand(self, ordinals: Iterable[int]) -> None:
        """Ask how these memories stand, and the versions that they change; what is new will be written."""
        known, asked = self.known, set(ordinals)
        for start in dict.fromkeys(place_of(known, ordinal) for ordinal in sorted(asked)):
            for member, found in standings(known, start, self.now, asked).items():
                if found != known.ledger.standing(member):
                    known.ledger.record_standing(member, found)
                    self.changes.restand(member)

    def remove(self, ordinals: Iterable[int], *, erased_at: int = 0) -> None:
        """Take memories out of every store; those that the event at `erased_at` erased never come back."""
        ledger, near, removed = self.known.ledger, self.known.near, sorted(set(ordinals))
        relatives = set[int]()
        for ordinal in removed:
            if ordinal not in relatives:
                relatives.update(members_of(self.known, ordinal))
        repeats, heirs = set(ledger.repeats_of(removed)), set[int]()
        for ordinal in removed:
            code = ledger.code(ordinal)
            self.known.tombstones.withdraw(code, withdrawn=False)
            if erased_at:
                row, ancestor = ledger.bearings(ordinal), _ancestor(self.known, ordinal)
                self.known.tombstones.drop(row, erased_at, ancestor)
            self.known.provisional.get(ledger.sequences(ordinal)[0], set()).discard(ordinal)
            heirs |= near.forget(ordinal)
            ledger.erase(ordinal)
            self.changes.erase(ordinal)
        compare(self, sorted(repeats.difference(removed)))
        follow(self, sorted(heirs.difference(removed)))
        self.restand(sorted(relatives.difference(removed)))

    def reached(self, act: Act) -> list[int]:
        """Memories that an act reaches."""
        ledger = self.known.ledger
        if act.axis == "memory":
            named = (self.find(act.tenant_id, memory_id) for memory_id in act.memory_ids)
            found = [ordinal for ordinal in named if ordinal is not None]
        else:
            found = [
                ordinal
                for code in act.selectors
                for ordinal in ledger.selected(act.axis, code, before=act.sequence)
            ]
        return [ordinal for ordinal in found if act.covers(ledger.bearings(ordinal))]


def _ancestor(known: Known, ordinal: int) -> Ancestor | None:
    """What a memory corrects, in the form that outlives it."""
    corrects, corrected = known.ledger.corrected_by(ordinal)
    where = NO_ORDINAL if corrected is None else corrected
    return Ancestor(corrects, where, *known.ledger.order(ordinal)) if corrects else None
