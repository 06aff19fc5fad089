"""Erasures that were carried out in the stores, and what is still to be done about each elsewhere.

They are part of the writer's state until everything is done, so a restart continues them. Their receipts
outlive them (`helix_shared.artifacts.erasures`). Nothing here holds a name or a text.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Self

from helix_consolidation.ledger.event_reach import Actor, SelectorKind
from helix_shared.artifacts.erasures.receipts import PLACES, Place, Receipt

if TYPE_CHECKING:
    from collections.abc import Iterable

IN_STORES: Final = ("memories", "derived_statements", "vectors", "lexicon", "graph", "expansions", "contexts")
"""Places that are clean from the generation whose stores were purged."""
IN_STREAMS: Final = ("events", "dead_letters", "answers", "pairs", "derived_messages")


@dataclass(slots=True)
class Erasure:
    """One erase event that was carried out; ids are `value_code`s."""

    sequence: int
    event: int
    tenant_id: str
    actor: Actor
    kind: SelectorKind
    counts: dict[str, int] = field(default_factory=dict)
    """What was removed, by place."""
    held: dict[str, int] = field(default_factory=dict)
    """Place -> the generation from which it holds nothing of what was erased."""
    events: set[int] = field(default_factory=set)
    """Sequences of HELIX_EVENTS that go."""
    asks: set[int] = field(default_factory=set)
    """Events whose memories quoted what was erased, and that are not derived again yet."""
    is_changed: bool = True
    """Whether its receipt is to be written again."""

    def add(self, place: str, count: int) -> None:
        """Add what was removed from a place."""
        self.counts[place] = self.counts.get(place, 0) + count
        self.is_changed = True

    def hold(self, places: Iterable[str], generation: int) -> None:
        """Record that places are clean from a generation on; the first one counts."""
        for place in places:
            if place not in self.held:
                self.held[place] = generation
                self.is_changed = True

    @property
    def is_out_of_streams(self) -> bool:
        """Whether the streams hold nothing of it any more."""
        return all(place in self.held for place in IN_STREAMS)

    @property
    def is_complete(self) -> bool:
        """Whether nothing is left to be done."""
        return all(place in self.held for place in PLACES)

    @property
    def receipt(self) -> Receipt:
        """What is kept for ever, and shown to who erased."""
        places = {name: Place(self.counts.get(name, 0), self.held.get(name, 0)) for name in PLACES}
        principals = tuple(sorted(self.actor.principals))
        return Receipt(self.event, self.actor.user, principals, self.sequence, places)

    def to_json(self) -> list[Any]:
        """Plain values."""
        actor = [self.actor.user, sorted(self.actor.principals)]
        sets = [sorted(self.events), sorted(self.asks)]
        return [self.sequence, self.event, self.tenant_id, actor, self.kind, self.counts, self.held, *sets]

    @classmethod
    def from_json(cls, value: list[Any]) -> Self:
        """The inverse of `to_json`."""
        sequence, event, tenant_id, (user, principals), kind, counts, held, events, asks = value
        actor = Actor(user, frozenset(principals))
        return cls(
            sequence, event, tenant_id, actor, kind, counts, held, set(events), set(asks), is_changed=False
        )


@dataclass(slots=True)
class Erasures:
    """What is under way."""

    open: dict[int, Erasure] = field(default_factory=dict)
    """By sequence of the erase event."""
    late: set[int] = field(default_factory=set)
    """Sequences of HELIX_EVENTS under which an erased event was published again."""
    asks: set[int] = field(default_factory=set)
    """Events to be derived again whose memories came after the erasure of what they quote."""
    blanked: set[int] = field(default_factory=set)
    """Ordinals whose context was emptied, and whose vector is still of before."""
    late_tenants: dict[int, str] = field(default_factory=dict)
    """Tenant of each of `late`."""

    @property
    def is_idle(self) -> bool:
        """Whether nothing is to be done."""
        return not (self.open or self.late or self.asks)

    @property
    def all_asks(self) -> set[int]:
        """Events to be derived again."""
        return self.asks.union(*(erasure.asks for erasure in self.open.values()))

    def note_late(self, tenant_id: str, sequence: int) -> None:
        """Record that an erased event was published again."""
        self.late.add(sequence)
        self.late_tenants[sequence] = tenant_id

    def asked(self, sequence: int) -> None:
        """Record that an event was derived again, or that there is nothing to derive."""
        self.asks.discard(sequence)
        for erasure in self.open.values():
            if sequence in erasure.asks:
                erasure.asks.discard(sequence)
                erasure.is_changed = True

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "open": [erasure.to_json() for erasure in self.open.values()],
            "late": sorted(self.late_tenants.items()),
            "asks": sorted(self.asks),
            "blanked": sorted(self.blanked),
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Self:
        """The inverse of `to_json`."""
        found = [Erasure.from_json(erasure) for erasure in value["open"]]
        late = dict(value["late"])
        opened = {erasure.sequence: erasure for erasure in found}
        return cls(opened, set(late), set(value["asks"]), set(value["blanked"]), late)
