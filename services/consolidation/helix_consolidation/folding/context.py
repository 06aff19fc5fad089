"""The context of all folding functions: the state, and the changes of the batch so far."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from helix_consolidation.ledger.usage_facts import record_usage
from helix_consolidation.relations.decide import decide
from helix_consolidation.relations.statement import Candidate, Decision, Statement

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from helix_consolidation.folding.changes import Changes
    from helix_consolidation.ledger.consolidation_state import ConsolidationState
    from helix_consolidation.ledger.lifecycle.tombstones import Usage
    from helix_shared.pairs.messages import UnsurePairs

Decide = Callable[[Statement, Sequence[Candidate]], Sequence[Decision]]
"""How a new statement relates to earlier ones: a pure function."""
ERASURE_COLUMNS: Final = ("event_id", "quotes", "expansions")
"""What an erasure asks of stored rows."""
StoredMany = Callable[[Sequence[int], Sequence[str]], dict[int, "Mapping[str, Any]"]]


@dataclass(frozen=True, slots=True)
class FoldContext:
    """One batch; `now` is in microseconds."""

    state: ConsolidationState
    changes: Changes
    now: int
    stored: Callable[[int, Sequence[str]], Mapping[str, Any]]
    """Values of a stored row by ordinal and columns."""
    decide: Decide = decide
    unsure: list[UnsurePairs] | None = None
    """Pairs to ask a language model about; None: nobody asks."""
    unasked: set[tuple[str, int]] = field(default_factory=set)
    """Tenants and events whose unsure pairs may hold a text that was forgotten or erased."""
    unreached: list[int] = field(default_factory=list)
    """Sequences of carried out events that name memories or a document by id and reached nothing."""

    stored_many: StoredMany | None = None
    """Values of stored rows by ordinals and columns, by ordinal; None: nothing is stored."""
    _read_ahead: dict[int, Mapping[str, Any] | None] = field(default_factory=dict)
    """Stored rows by ordinal, with `ERASURE_COLUMNS`; None: there is no row."""

    def find(self, tenant_id: str, memory_id: str) -> int | None:
        """Ordinal of a memory of this tenant; None for another tenant's id."""
        ordinal = self.state.ledger.find(memory_id)
        return None if ordinal is None or self.state.ledger.tenant_id(ordinal) != tenant_id else ordinal

    def add_usage(self, ordinal: int, usage: Usage) -> None:
        """Count accesses and feedback of a memory, in the ledger and for the stores."""
        record_usage(self.state.ledger, ordinal, usage)
        self.changes.add_usage(ordinal, usage)

    def read_ahead(self, ordinals: Iterable[int]) -> None:
        """Prefetch stored rows, so that erasures of this batch do not read them one by one.

        A read takes some 10 ms however few rows it returns, and an erasure makes four.
        """
        wanted = sorted(set(ordinals).difference(self._read_ahead))
        if wanted and self.stored_many is not None:
            found = self.stored_many(wanted, ERASURE_COLUMNS)
            self._read_ahead.update((ordinal, found.get(ordinal)) for ordinal in wanted)

    def values_of_many(self, ordinals: Sequence[int], columns: Sequence[str]) -> dict[int, Mapping[str, Any]]:
        """Values of the rows of several memories, by ordinal: read together where they are stored."""
        here = [ordinal for ordinal in ordinals if ordinal in self.changes.rows]
        found = self._stored_of(ordinals, columns)
        known = {ordinal: self.values_of(ordinal, columns) for ordinal in here if "expansions" not in columns}
        return {**found, **known}

    def _stored_of(self, ordinals: Sequence[int], columns: Sequence[str]) -> dict[int, Mapping[str, Any]]:
        ahead = self._read_ahead if set(columns) <= set(ERASURE_COLUMNS) else {}
        rows = ((ordinal, ahead.get(ordinal)) for ordinal in ordinals)
        found: dict[int, Mapping[str, Any]] = {
            ordinal: {name: row[name] for name in columns} for ordinal, row in rows if row is not None
        }
        left = [ordinal for ordinal in ordinals if ordinal not in ahead]
        if left and self.stored_many is not None:
            found |= self.stored_many(left, columns)
        return found

    def values_of(self, ordinal: int, columns: Sequence[str]) -> Mapping[str, Any]:
        """Values of a memory's row: as changed by this batch, else as stored."""
        if ordinal not in self.changes.rows:
            return self.stored(ordinal, columns)
        batch, row = self.changes.rows[ordinal]
        return {name: self.changes.batches[batch][name][row].as_py() for name in columns}
