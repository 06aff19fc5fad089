"""The ledger: what the writer must know of every memory without asking a store.

Ordinals are given here, in order of first arrival, and never again: an erased memory leaves a
hole. About 100 bytes a memory. Filled at the start from a few columns of the vector table, kept in
step by `fold` alone; whatever is in a published generation is in the ledger, and nothing else
after a restart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from helix_consolidation.ledger.correction_index import CorrectionIndex
from helix_consolidation.ledger.event_reach import EVERYBODY, NOTHING, SelectorKind, Visibility, value_code
from helix_consolidation.ledger.interned import Interned
from helix_consolidation.ledger.memory_status import NEVER, MemoryFacts, MemoryStatus
from helix_shared.identity import id_digest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

NO_DUPLICATE: Final = -1
FACTS: Final = np.dtype(
    [
        ("memory_id", "S32"),
        ("tenant", np.int32),
        ("piece", np.int32),
        ("stream", np.int64),
        ("revision", np.int64),
        ("session", np.int64),
        ("document", np.int64),
        ("user", np.int64),
        ("visibility", np.int32),
        ("expires_at", np.int64),
        ("deleted_at", np.int64),
        ("duplicate_of", np.int32),
        ("is_hidden", np.bool_),
        ("is_latest", np.bool_),
        ("is_there", np.bool_),
    ]
)
_FIRST_CAPACITY: Final = 1_024
_TAIL_IDS: Final = 65_536


@dataclass(frozen=True, slots=True)
class Entry:
    """One row as it arrives; `session`, `document` and `user` are `value_code`s."""

    memory_id: str
    tenant_id: str
    piece: int
    stream_sequence: int
    revision_sequence: int
    session: int
    document: int
    user: int
    expires_at: int = NEVER
    corrects: str = ""
    visibility: Visibility = EVERYBODY


class Ledger:
    """Facts by ordinal, and the way from a memory id to its ordinal."""

    def __init__(self) -> None:
        self._facts = np.zeros(_FIRST_CAPACITY, FACTS)
        self._size = 0
        self._tenants = Interned[str]()
        self._visibilities = Interned[Visibility]()
        self._corrections = CorrectionIndex()
        self._superseded_by: dict[int, str] = {}
        self._base_ids = np.empty(0, "S32")
        self._base_ordinals = np.empty(0, np.int64)
        self._tail: dict[str, int] = {}
        self.digest = 0
        """XOR of `identity.id_digest` over the memories that are there."""

    @property
    def size(self) -> int:
        """Ordinals given so far, holes included."""
        return self._size

    @property
    def facts(self) -> NDArray[np.void]:
        """The facts of all ordinals; a view, to be read only."""
        return self._facts[: self._size]

    @property
    def memories(self) -> int:
        """Memories that are there, hidden or not."""
        return int(np.count_nonzero(self.facts["is_there"]))

    @property
    def hidden(self) -> int:
        """Memories that are there and hidden."""
        return int(np.count_nonzero(self.facts["is_there"] & self.facts["is_hidden"]))

    def find(self, memory_id: str) -> int | None:
        """Ordinal of a memory that is there."""
        ordinal = self._tail.get(memory_id)
        if ordinal is None:
            key = memory_id.encode("utf-8", "replace")
            at = int(np.searchsorted(self._base_ids, np.bytes_(key)))
            if at == len(self._base_ids) or bytes(self._base_ids[at]) != key:
                return None
            ordinal = int(self._base_ordinals[at])
        return ordinal if self._facts["is_there"][ordinal] else None

    def add(self, entry: Entry) -> int:
        """A new memory; returns its ordinal."""
        ordinal = self._size
        if ordinal == len(self._facts):
            self._facts = np.concatenate([self._facts, np.zeros(len(self._facts), FACTS)])
        self._size += 1
        self._tail[entry.memory_id] = ordinal
        self.digest ^= id_digest(entry.memory_id)
        self.replace(ordinal, entry)
        if len(self._tail) > max(_TAIL_IDS, self._size // 4):
            self._index()
        return ordinal

    def replace(self, ordinal: int, entry: Entry) -> None:
        """What is known of a row from now on; it stands plainly."""
        self._facts[ordinal] = (
            entry.memory_id.encode(),
            self._tenants.number(entry.tenant_id),
            entry.piece,
            entry.stream_sequence,
            entry.revision_sequence,
            entry.session,
            entry.document,
            entry.user,
            self._visibilities.number(entry.visibility),
            entry.expires_at,
            NEVER,
            NO_DUPLICATE,
            False,
            True,
            True,
        )
        self._superseded_by.pop(ordinal, None)
        self._corrections.tie(ordinal, entry.tenant_id, entry.corrects)

    def revise(self, ordinal: int, entry: Entry) -> None:
        """Another version of the row of the same event; it stands and repeats others as before."""
        kept, superseded_by = self._facts[ordinal].copy(), self._superseded_by.get(ordinal)
        self.replace(ordinal, entry)
        for name in ("deleted_at", "duplicate_of", "is_hidden", "is_latest"):
            self._facts[name][ordinal] = kept[name]
        if superseded_by is not None:
            self._superseded_by[ordinal] = superseded_by

    def erase(self, ordinal: int) -> None:
        """The memory is gone; its ordinal stays a hole."""
        self.digest ^= id_digest(self.memory_id(ordinal))
        hole = np.zeros((), FACTS)
        hole["is_hidden"], hole["duplicate_of"], hole["expires_at"] = True, NO_DUPLICATE, NEVER
        self._tail.pop(self.memory_id(ordinal), None)
        self._corrections.untie(ordinal)
        # the sorted index still finds the ordinal, `is_there` says no
        self._facts[ordinal] = hole
        self._superseded_by.pop(ordinal, None)

    def memory_id(self, ordinal: int) -> str:
        """Id of a memory."""
        return bytes(self._facts["memory_id"][ordinal]).decode()

    def tenant_id(self, ordinal: int) -> str:
        """Tenant of a memory."""
        return self._tenants[int(self._facts["tenant"][ordinal])]

    def sequences(self, ordinal: int) -> tuple[int, int]:
        """Stream and revision sequence of a memory."""
        return int(self._facts["stream"][ordinal]), int(self._facts["revision"][ordinal])

    def order(self, ordinal: int) -> tuple[int, int]:
        """Which of two memories is the earlier: sequence, then piece."""
        return int(self._facts["stream"][ordinal]), int(self._facts["piece"][ordinal])

    def visibility(self, ordinal: int) -> Visibility:
        """Who may see a memory."""
        return self._visibilities[int(self._facts["visibility"][ordinal])]

    def is_there(self, ordinal: int) -> bool:
        """Whether an ordinal has a memory."""
        return bool(self._facts["is_there"][ordinal])

    def code(self, ordinal: int) -> int:
        """Code of a memory."""
        return value_code(self.tenant_id(ordinal), "memory", self.memory_id(ordinal))

    def corrected_by(self, ordinal: int) -> tuple[int, int | None]:
        """Code of the memory that this one corrects, and its ordinal where it is there."""
        code, corrects = self._corrections.by(ordinal)
        found = self.find(corrects) if corrects else None
        is_own = found is not None and self.tenant_id(found) == self.tenant_id(ordinal)
        return code, found if is_own else None

    def corrections_of(self, memory: int) -> list[int]:
        """Memories that call themselves the next version of the memory of this code."""
        return self._corrections.of(memory)

    def memory_facts(self, ordinal: int) -> MemoryFacts:
        """What decides the standing of a memory."""
        fact = self._facts[ordinal]
        return MemoryFacts(
            stream_sequence=int(fact["stream"]),
            memory=self.code(ordinal),
            session=int(fact["session"]),
            document=int(fact["document"]),
            user=int(fact["user"]),
            visibility=self._visibilities[int(fact["visibility"])],
            expires_at=int(fact["expires_at"]),
        )

    def status(self, ordinal: int) -> MemoryStatus:
        """The standing last recorded."""
        fact = self._facts[ordinal]
        return MemoryStatus(
            superseded_by=self._superseded_by.get(ordinal, ""),
            is_latest=bool(fact["is_latest"]),
            deleted_at=int(fact["deleted_at"]),
            is_hidden=bool(fact["is_hidden"]),
        )

    def superseded_by(self, ordinal: int) -> str:
        """Id of the version that stands for a memory, as last recorded; empty: it stands itself."""
        return self._superseded_by.get(ordinal, "")

    def record_status(self, ordinal: int, status: MemoryStatus) -> None:
        """Record how a memory stands from now on."""
        fact = self._facts[ordinal : ordinal + 1]
        fact["is_latest"] = status.is_latest
        fact["deleted_at"] = status.deleted_at
        fact["is_hidden"] = status.is_hidden
        self._superseded_by.pop(ordinal, None)
        if status.superseded_by:
            self._superseded_by[ordinal] = status.superseded_by

    def duplicate_of(self, ordinal: int) -> int | None:
        """Ordinal of the earlier memory this one repeats."""
        found = int(self._facts["duplicate_of"][ordinal])
        return None if found == NO_DUPLICATE else found

    def record_duplicate(self, ordinal: int, earlier: int | None) -> None:
        """Record which memory this one repeats."""
        self._facts["duplicate_of"][ordinal] = NO_DUPLICATE if earlier is None else earlier

    def duplicates_of(self, ordinals: Sequence[int]) -> list[int]:
        """Memories recorded as repeating one of `ordinals`."""
        if not ordinals:
            return []
        found = np.isin(self.facts["duplicate_of"], np.asarray(ordinals, np.int32))
        return [int(o) for o in np.flatnonzero(found & self.facts["is_there"])]

    def selected(self, selector_kind: SelectorKind, code: int, *, before: int) -> list[int]:
        """Memories of a session, document or user with a stream sequence below `before`."""
        if code == NOTHING:
            return []
        facts = self.facts
        return [
            int(o)
            for o in np.flatnonzero(
                (facts[selector_kind] == code) & (facts["stream"] < before) & facts["is_there"]
            )
        ]

    def expired(self, now: int) -> list[int]:
        """Memories past their expiry that are not hidden yet."""
        facts = self.facts
        due = (facts["expires_at"] != NEVER) & (facts["expires_at"] <= now)
        return [int(o) for o in np.flatnonzero(due & ~facts["is_hidden"] & facts["is_there"])]

    def fill(
        self,
        facts: NDArray[np.void],
        tenants: list[str],
        visibilities: list[Visibility],
        *,
        corrects: dict[int, str],
        superseded_by: dict[int, str],
        digest: int,
    ) -> None:
        """Take over the facts of a generation, all at once; `facts` are indexed by ordinal."""
        self._facts = facts if len(facts) else self._facts
        self._size = len(facts)
        self._tenants, self._visibilities = Interned(tenants), Interned(visibilities)
        for ordinal, corrected in corrects.items():
            self._corrections.tie(ordinal, self.tenant_id(ordinal), corrected)
        self._superseded_by = superseded_by
        self.digest = digest
        self._index()

    def _index(self) -> None:
        there = np.flatnonzero(self.facts["is_there"])
        ids = np.ascontiguousarray(self.facts["memory_id"][there])
        order = np.argsort(ids)
        self._base_ids, self._base_ordinals, self._tail = ids[order], there[order], {}
