"""What was forgotten, erased, replaced or corrected, remembered for rows that arrive late.

Events come in any order, so every rule here is "the highest sequence wins" and is asked again
when a row arrives. A selector acts on rows of a lower stream sequence than its event only.
Selectors are kept as keyed hashes: after an erasure no name of a user or session remains, and a
tenant is part of every hash, so nothing reaches across tenants.

`standing` follows from this and the row; `state` persists it inside the generation.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, Self

if TYPE_CHECKING:
    from collections.abc import Iterable

    from helix.events import Selector

Axis = Literal["memory", "session", "document", "user", "event"]
NOTHING: Final = 0
"""Code of an empty value; no selector has it."""
SEEN_EVENTS: Final = 200_000
AWAITED_MEMORIES: Final = 100_000


@dataclass(frozen=True, slots=True)
class Forgotten:
    """The last forget or restore of one selector; `at` is server time in microseconds."""

    sequence: int
    is_hidden: bool
    at: int


@dataclass(frozen=True, slots=True)
class Correction:
    """The winning next version of a memory."""

    sequence: int
    piece: int
    memory_id: str


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
    """All that outlives the rows it speaks of; keys are `scope_code`s."""

    forgotten: dict[int, Forgotten] = field(default_factory=dict)
    erased: dict[int, int] = field(default_factory=dict)
    """Selector -> sequence of its last erasure."""
    dropped: set[int] = field(default_factory=set)
    """Single memories that may never come back."""
    replaced: dict[int, int] = field(default_factory=dict)
    """Document -> sequence of its last version or deletion."""
    corrections: dict[int, Correction] = field(default_factory=dict)
    """Corrected memory -> its next version."""
    awaited: dict[int, Usage] = field(default_factory=dict)
    """Feedback for memories that are still on their way."""
    seen: dict[int, int] = field(default_factory=dict)
    """Lifecycle and replacing events by event id -> first sequence, newest kept."""

    def is_repeat(self, event: int, sequence: int) -> bool:
        """Whether this event id was already applied under a lower sequence; else remember it."""
        known = self.seen.get(event)
        if known is not None and known < sequence:
            return True
        self.seen[event] = sequence
        if len(self.seen) > SEEN_EVENTS:
            self.seen.pop(next(iter(self.seen)))
        return False

    def forget(self, selector: int, verdict: Forgotten) -> None:
        """Remember a forget or a restore; the highest sequence wins."""
        known = self.forgotten.get(selector)
        if known is None or known.sequence < verdict.sequence:
            self.forgotten[selector] = verdict

    def erase(self, selector: int, sequence: int) -> None:
        """Remember the erasure of a session, document or user."""
        self.erased[selector] = max(sequence, self.erased.get(selector, 0))

    def replace(self, document: int, sequence: int) -> None:
        """Remember that pieces of a document older than `sequence` are superseded."""
        self.replaced[document] = max(sequence, self.replaced.get(document, 0))

    def correct(self, memory: int, correction: Correction) -> Correction:
        """Remember a correction; the latest event wins, of its pieces the first. Returns the winner."""
        known = self.corrections.get(memory)
        if known is None or (correction.sequence, -correction.piece) > (known.sequence, -known.piece):
            self.corrections[memory] = correction
        return self.corrections[memory]

    def is_dropped(self, memory: int) -> bool:
        """Whether this memory was erased for good."""
        return memory in self.dropped

    def is_erased(self, memory: int, selectors: Iterable[int], sequence: int) -> bool:
        """Whether a row of `sequence` was erased, by its id or by anything it belongs to."""
        return memory in self.dropped or any(self.erased.get(s, 0) > sequence for s in selectors if s)

    def await_memory(self, memory: int, usage: Usage) -> None:
        """Keep feedback until its memory arrives; beyond a bound it is given up."""
        if memory in self.awaited or len(self.awaited) < AWAITED_MEMORIES:
            self.awaited[memory] = self.awaited.get(memory, Usage()) + usage

    def to_json(self) -> dict[str, Any]:
        """Plain values; JSON keys are decimal codes."""
        return {
            "forgotten": {str(k): [v.sequence, v.is_hidden, v.at] for k, v in self.forgotten.items()},
            "erased": {str(k): v for k, v in self.erased.items()},
            "dropped": sorted(self.dropped),
            "replaced": {str(k): v for k, v in self.replaced.items()},
            "corrections": {str(k): asdict(v) for k, v in self.corrections.items()},
            "awaited": {str(k): asdict(v) for k, v in self.awaited.items()},
            "seen": {str(k): v for k, v in self.seen.items()},
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Self:
        """The inverse of `to_json`."""
        return cls(
            forgotten={int(k): Forgotten(*v) for k, v in value["forgotten"].items()},
            erased={int(k): v for k, v in value["erased"].items()},
            dropped=set(value["dropped"]),
            replaced={int(k): v for k, v in value["replaced"].items()},
            corrections={int(k): Correction(**v) for k, v in value["corrections"].items()},
            awaited={int(k): Usage(**v) for k, v in value["awaited"].items()},
            seen={int(k): v for k, v in value["seen"].items()},
        )


def scope_code(tenant_id: str, axis: Axis, value: str) -> int:
    """63-bit code of a value inside a tenant, or `NOTHING` for an empty value."""
    if not value:
        return NOTHING
    text = f"{tenant_id}\x1f{axis}\x1f{value}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest()) >> 1 or 1


def selectors_of(tenant_id: str, selector: Selector) -> list[tuple[Axis, int]]:
    """The codes a forget or erase event names; exactly one axis."""
    named: list[tuple[Axis, str]] = [("memory", m) for m in selector.memory_ids]
    named += [
        ("session", selector.of_session),
        ("document", selector.of_document),
        ("user", selector.of_user),
    ]
    return [(axis, scope_code(tenant_id, axis, value)) for axis, value in named if value]
