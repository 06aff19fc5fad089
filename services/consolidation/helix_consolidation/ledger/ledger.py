"""The ledger: what the writer needs of every memory without asking a store, about 140 bytes a memory.

It assigns ordinals in order of first arrival and never reuses one: an erased memory leaves a hole. `load`
fills it at the start from a few columns of the vector table; afterwards `folding` alone changes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from helix_consolidation.ledger.event_reach import (
    NO_TIME,
    NOTHING,
    MemoryFacts,
    SelectorKind,
    Visibility,
    value_code,
)
from helix_consolidation.ledger.facts import (
    FACTS,
    NEW_MEMORY_FACTS,
    NO_DUPLICATE,
    REVISION_FACTS,
    LedgerEntry,
    MemoryStatus,
    RareStatus,
    shown_decay,
)
from helix_consolidation.ledger.indexes import CorrectionIndex, IdIndex, Interned, SourceIndex
from helix_shared.identity import id_digest

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

_FIRST_CAPACITY: Final = 1_024


class Ledger:
    """Facts by ordinal, and the ordinal of a memory id."""

    def __init__(self) -> None:
        self._facts = np.zeros(_FIRST_CAPACITY, FACTS)
        self._size = 0
        self._tenants = Interned[str]()
        self._visibilities = Interned[Visibility]()
        self._ids = IdIndex()
        self.corrections = CorrectionIndex()
        self.sources = SourceIndex()
        self._rare = RareStatus({}, {})
        self.digest = 0
        """XOR of `identity.id_digest` over all memories that exist."""

    @property
    def size(self) -> int:
        """Ordinals assigned so far, holes included."""
        return self._size

    @property
    def facts(self) -> NDArray[np.void]:
        """The facts of all ordinals; a view, read-only by convention."""
        return self._facts[: self._size]

    @property
    def memories(self) -> int:
        """Memories that exist, hidden or not."""
        return int(np.count_nonzero(self.facts["is_there"]))

    @property
    def hidden(self) -> int:
        """Memories that exist and are hidden."""
        return int(np.count_nonzero(self.facts["is_there"] & self.facts["is_hidden"]))

    def find(self, memory_id: str) -> int | None:
        """Ordinal of a memory that exists."""
        ordinal = self._ids.find(memory_id)
        return ordinal if ordinal is not None and self._facts["is_there"][ordinal] else None

    def add(self, entry: LedgerEntry) -> int:
        """Add a new memory; returns its ordinal."""
        ordinal = self._size
        if ordinal == len(self._facts):
            self._facts = np.concatenate([self._facts, np.zeros(len(self._facts), FACTS)])
        self._size += 1
        self._ids.add(entry.memory_id, ordinal)
        self.digest ^= id_digest(entry.memory_id)
        self._record(ordinal, entry)
        if self._ids.is_tail_long:
            self._index()
        return ordinal

    def revise(self, ordinal: int, entry: LedgerEntry) -> None:
        """Record another version of the row of the same event; its status and its duplicate are kept."""
        kept, rare = self._facts[ordinal].copy(), self._rare.of(ordinal)
        self._record(ordinal, entry)
        self._rare.record(ordinal, *rare)
        for name in REVISION_FACTS:
            self._facts[name][ordinal] = kept[name]

    def _record(self, ordinal: int, entry: LedgerEntry) -> None:
        stated = {
            "memory_id": entry.memory_id.encode(),
            "tenant": self._tenants.number(entry.tenant_id),
            "piece": entry.piece,
            "stream": entry.stream_sequence,
            "revision": entry.revision_sequence,
            "session": entry.session,
            "document": entry.document,
            "user": entry.user,
            "visibility": self._visibilities.number(entry.visibility),
            "expires_at": entry.expires_at,
            "created_at": entry.created_at,
            "salience": entry.salience,
            "may_decay": entry.may_decay,
        }
        facts = stated | NEW_MEMORY_FACTS
        self._facts[ordinal] = tuple(facts[name] for name in FACTS.names or ())
        self._rare.record(ordinal)
        self._record_correction(ordinal, entry.tenant_id, entry.corrects)
        if entry.source and (source := self.find(entry.source)) is not None:
            self.sources.add(ordinal, source)

    def _record_correction(self, ordinal: int, tenant_id: str, corrects: str) -> None:
        if corrects:
            corrected = value_code(tenant_id, "memory", corrects)
            self.corrections.add(ordinal, self.code(ordinal), corrected, corrects)
        else:
            self.corrections.remove(ordinal)

    def reset_revision(self, ordinal: int) -> None:
        """Record the row as one that no later event completed: any revision of it counts."""
        self._facts["revision"][ordinal] = self._facts["stream"][ordinal]

    def erase(self, ordinal: int) -> None:
        """Remove a memory; its ordinal stays a hole."""
        self.digest ^= id_digest(self.memory_id(ordinal))
        hole = np.zeros((), FACTS)
        hole["is_hidden"], hole["duplicate_of"], hole["expires_at"] = True, NO_DUPLICATE, NO_TIME
        hole["decayed_at"] = NO_TIME
        self._ids.remove(self.memory_id(ordinal))
        self.corrections.remove(ordinal)
        self.sources.remove(ordinal)
        # the sorted ids still hold the ordinal; `is_there` is False
        self._facts[ordinal] = hole
        self._rare.record(ordinal)

    def memory_id(self, ordinal: int) -> str:
        """Id of a memory."""
        return bytes(self._facts["memory_id"][ordinal]).decode()

    def tenant_id(self, ordinal: int) -> str:
        """Tenant of a memory."""
        return self._tenants[int(self._facts["tenant"][ordinal])]

    def tenants(self) -> dict[str, NDArray[np.intp]]:
        """The tenants that have memories, each with its ordinals."""
        there = np.flatnonzero(self.facts["is_there"])
        numbers = self.facts["tenant"][there]
        return {self._tenants[int(number)]: there[numbers == number] for number in np.unique(numbers)}

    def sequences(self, ordinal: int) -> tuple[int, int]:
        """Stream and revision sequence of a memory."""
        return int(self._facts["stream"][ordinal]), int(self._facts["revision"][ordinal])

    def order(self, ordinal: int) -> tuple[int, int]:
        """Sort key by the log: stream sequence, then piece."""
        return int(self._facts["stream"][ordinal]), int(self._facts["piece"][ordinal])

    def visibility(self, ordinal: int) -> Visibility:
        """Who may recall a memory."""
        return self._visibilities[int(self._facts["visibility"][ordinal])]

    def is_there(self, ordinal: int) -> bool:
        """Whether the memory of an ordinal exists."""
        return bool(self._facts["is_there"][ordinal])

    def code(self, ordinal: int) -> int:
        """Code of a memory."""
        return value_code(self.tenant_id(ordinal), "memory", self.memory_id(ordinal))

    def corrected_memory_of(self, ordinal: int) -> tuple[int, int | None]:
        """Code of the memory that this one corrects (`NOTHING`: none), and its ordinal if it exists."""
        code, corrects = self.corrections.corrected_memory_of(ordinal)
        found = self.find(corrects) if corrects else None
        is_own = found is not None and self.tenant_id(found) == self.tenant_id(ordinal)
        return code, found if is_own else None

    def memory_facts(self, ordinal: int) -> MemoryFacts:
        """What decides which events reach a memory."""
        fact = self._facts[ordinal]
        return MemoryFacts(
            stream_sequence=int(fact["stream"]),
            memory=self.code(ordinal),
            session=int(fact["session"]),
            document=int(fact["document"]),
            user=int(fact["user"]),
            visibility=self._visibilities[int(fact["visibility"])],
            expires_at=int(fact["expires_at"]),
            source=NOTHING if (source := self.sources.of(ordinal)) is None else self.code(source),
        )

    def status(self, ordinal: int) -> MemoryStatus:
        """The status last recorded."""
        fact = self._facts[ordinal]
        superseded_by, closed_at, restated = self._rare.of(ordinal)
        deleted_at = int(fact["deleted_at"])
        return MemoryStatus(
            superseded_by=superseded_by,
            is_latest=bool(fact["is_latest"]),
            deleted_at=deleted_at,
            deleted_by=int(fact["deleted_by"]),
            erasing=bool(fact["erasing"]),
            is_hidden=bool(fact["is_hidden"]),
            closed_at=closed_at,
            restated=restated,
            decayed_at=shown_decay(int(fact["decayed_at"]), deleted_at=deleted_at),
        )

    @property
    def in_force(self) -> NDArray[np.bool_]:
        """`MemoryStatus.is_in_force` of all ordinals."""
        in_force: NDArray[np.bool_] = self.facts["is_latest"].copy()
        in_force[self._rare.closed_ordinals] = True
        in_force &= self.facts["deleted_at"] == NO_TIME
        in_force &= self.facts["is_there"]
        return in_force

    def record_status(self, ordinal: int, status: MemoryStatus) -> None:
        """Record the status of a memory."""
        fact = self._facts[ordinal : ordinal + 1]
        for name in ("is_latest", "deleted_at", "deleted_by", "erasing", "is_hidden"):
            fact[name] = getattr(status, name)
        self._rare.record(ordinal, status.superseded_by, status.closed_at, status.restated)

    def duplicate_of(self, ordinal: int) -> int | None:
        """Ordinal of the earlier memory that this one is a near-duplicate of."""
        found = int(self._facts["duplicate_of"][ordinal])
        return None if found == NO_DUPLICATE else found

    def record_duplicate(self, ordinal: int, earlier: int | None) -> None:
        """Record what a memory is a near-duplicate of."""
        self._facts["duplicate_of"][ordinal] = NO_DUPLICATE if earlier is None else earlier

    def duplicates_of(self, ordinals: Sequence[int]) -> list[int]:
        """Memories recorded as near-duplicates of one of `ordinals`."""
        if not ordinals:
            return []
        found = np.isin(self.facts["duplicate_of"], np.asarray(ordinals, np.int32))
        return [int(o) for o in np.flatnonzero(found & self.facts["is_there"])]

    def selected(self, kind: SelectorKind, code: int, *, before: int) -> list[int]:
        """Memories of a session, document or user with a stream sequence below `before`."""
        if code == NOTHING:
            return []
        facts = self.facts
        found = (facts[kind] == code) & (facts["stream"] < before) & facts["is_there"]
        return [int(o) for o in np.flatnonzero(found)]

    def of_sessions(self, codes: Collection[int]) -> list[int]:
        """Memories of any of these sessions, found in one pass: it takes 40 ms in a million memories."""
        found = np.isin(self.facts["session"], [code for code in codes if code != NOTHING])
        return [int(o) for o in np.flatnonzero(found & self.facts["is_there"])]

    def expiry_changed(self, now: int) -> list[int]:
        """Memories that expired and are not hidden, or did not and are: a clock was fast. In microseconds."""
        facts = self.facts
        shown = facts["is_latest"] & (facts["deleted_at"] == NO_TIME) & (facts["decayed_at"] == NO_TIME)
        is_wrong = np.where(facts["expires_at"] <= now, ~facts["is_hidden"], facts["is_hidden"] & shown)
        is_wrong &= (facts["expires_at"] != NO_TIME) & facts["is_there"]
        return [int(o) for o in np.flatnonzero(is_wrong)]

    def fill(
        self,
        facts: NDArray[np.void],
        tenants: list[str],
        visibilities: list[Visibility],
        *,
        corrects: dict[int, str],
        sources: SourceIndex,
        superseded_by: dict[int, str],
        closed: dict[int, tuple[int, int]],
        digest: int,
    ) -> None:
        """Replace the content by that of a generation; `facts` are indexed by ordinal."""
        self._facts = facts if len(facts) else self._facts
        self._size = len(facts)
        self._tenants, self._visibilities = Interned(tenants), Interned(visibilities)
        for ordinal, corrected in corrects.items():
            self._record_correction(ordinal, self.tenant_id(ordinal), corrected)
        self.sources = sources
        self._rare = RareStatus(superseded_by, closed)
        self.digest = digest
        self._index()

    def _index(self) -> None:
        there = np.flatnonzero(self.facts["is_there"])
        self._ids.load(np.ascontiguousarray(self.facts["memory_id"][there]), there)
