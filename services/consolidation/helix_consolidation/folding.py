"""What folding works on: everything known, and the changes of one batch so far."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from helix_consolidation.changes import Changes, Relation
from helix_consolidation.ledger import Ledger
from helix_consolidation.relate import NearDuplicates
from helix_consolidation.sequences import AnsweredSequences
from helix_consolidation.standing import standing
from helix_consolidation.tombstones import Tombstones

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from helix_consolidation.arrivals import Model


@dataclass(slots=True)
class Known:
    """Everything the writer knows; saved with a generation, and loaded from it."""

    ledger: Ledger = field(default_factory=Ledger)
    near: NearDuplicates = field(default_factory=NearDuplicates)
    tombstones: Tombstones = field(default_factory=Tombstones)
    applied: AnsweredSequences = field(default_factory=AnsweredSequences)
    """Sequences of HELIX_EVENTS."""
    derived: AnsweredSequences = field(default_factory=AnsweredSequences)
    """Sequences of HELIX_DERIVED."""
    model: Model | None = None


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
        """Ask how these memories stand; what changed will be written."""
        ledger = self.known.ledger
        for ordinal in ordinals:
            found = standing(ledger.bearings(ordinal), self.known.tombstones, self.now)
            if found != ledger.standing(ordinal):
                ledger.record_standing(ordinal, found)
                self.changes.restand(ordinal)

    def repeats(self, ordinal: int, earlier: int, jaccard: float) -> None:
        """One memory says again what an earlier one said; both stay."""
        self.known.ledger.record_duplicate(ordinal, earlier)
        self.changes.rewritten.add(ordinal)
        self.changes.relate(Relation(ordinal, earlier, "RELATES", jaccard))

    def unrepeat(self, ordinals: Iterable[int]) -> None:
        """These memories are nobody's earlier near-duplicate any more."""
        for repeat in self.known.ledger.repeats_of(list(ordinals)):
            self.known.ledger.record_duplicate(repeat, None)
            self.changes.rewritten.add(repeat)
