"""Erasures that were carried out in the stores, and what is still to be done about each elsewhere.

They are part of the writer's state until everything is done, so a restart continues them. Their receipts
outlive them (`helix_shared.artifacts.erasures`). Nothing here holds a name or a text.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from helix_consolidation.ledger.event_reach import Actor, SelectorKind
from helix_shared.artifacts.erasures.receipts import PLACES, Place, Receipt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

IN_STORES: Final = ("memories", "vectors", "lexicon", "graph", "expansions")
"""Places that are clean from the generation whose stores were purged."""
IN_NEIGHBOURS: Final = ("contexts", "derived_statements")
"""The same, once the log was asked for erased events without memories: others may quote them."""
IN_STREAMS: Final = ("events", "archive", "dead_letters", "answers", "pairs", "derived_messages")
"""Places that are clean once a round of `delivery.erasing` is done: the streams, and the copy of the log."""
IN_BACKUPS: Final = ("backups",)
"""Unreadable once the keys are destroyed: those of the events at once, that of everything else at the end."""


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
    is_planned: bool = False
    """Whether `events` and `asks` are complete: the log is asked for both before it loses the events."""
    is_plan_stored: bool = False
    """Whether a generation has them, so that a restart does not miss who is to be derived again."""
    whole_owner: str | None = None
    """Owner of whom no event before the erase event is left, empty: there is none; not saved."""
    are_streams_clean: bool = False
    """Not saved: what is not in a receipt is done again after a restart."""
    is_state_key_replaced: bool = False
    """Whether what a backup holds besides events is unreadable; not saved, as above."""
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
    def purged_at(self) -> int:
        """The generation from which the stores hold nothing of it, its neighbours included; 0: they may."""
        return self.held.get("context_vectors", 0)

    @property
    def is_out_of_streams(self) -> bool:
        """Whether the streams hold nothing of it any more."""
        return all(place in self.held for place in IN_STREAMS)

    @property
    def is_clean_here(self) -> bool:
        """Whether nothing but its copies in backups is left."""
        return all(place in self.held for place in PLACES if place not in IN_BACKUPS)

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
        rest = [self.counts, self.held, *sets, self.is_planned]
        return [self.sequence, self.event, self.tenant_id, actor, self.kind, *rest]

    @classmethod
    def from_json(cls, value: list[Any]) -> Self:
        """The inverse of `to_json`."""
        sequence, event, tenant_id, (user, principals), kind, counts, held, events, asks, *rest = value
        found = cls(sequence, event, tenant_id, Actor(user, frozenset(principals)), kind, counts, held)
        found.events, found.asks, found.is_changed = set(events), set(asks), False
        found.is_planned = found.is_plan_stored = bool(rest and rest[0])  # older states lack it
        return found


class LoggedCandidate(NamedTuple):
    """An event of the log that an erasure selects; its memories may be of another session by now."""

    tenant_id: str
    sequence: int
    event_id: str
    session_id: str


@dataclass(slots=True)
class Erasures:
    """What is under way."""

    open: dict[int, Erasure] = field(default_factory=dict)
    """Erasures by the sequence of the erase event."""
    late: dict[int, str] = field(default_factory=dict)
    """Sequences of HELIX_EVENTS under which an erased event was published again, with their tenants."""
    asks: set[int] = field(default_factory=set)
    """Events to be derived again whose memories came after the erasure of what they quote."""
    blanked: set[int] = field(default_factory=set)
    """Ordinals whose context was emptied, and whose vector is still of before."""
    has_copies: bool = False
    """Whether HELIX_DERIVED may hold the bytes of a message that quotes something erased."""
    has_new_copies: bool = False
    """Whether such a message came since the round began that is under way."""
    is_unpurged: bool = False
    """Whether the last generation may hold bytes of what was erased, or was moved away."""

    def drop_foreign(self, stays: Callable[[str], bool]) -> None:
        """Leave what is under way of other tenants to the writer of their shard."""
        self.open = {sequence: one for sequence, one in self.open.items() if stays(one.tenant_id)}
        self.late = {sequence: one for sequence, one in self.late.items() if stays(one)}

    @property
    def is_idle(self) -> bool:
        """Whether nothing is to be done."""
        return not (self.open or self.late or self.asks or self.has_copies)

    @property
    def has_unpurged(self) -> bool:
        """Whether the stores may still hold bytes of what was erased."""
        return self.is_unpurged or any("memories" not in erasure.held for erasure in self.open.values())

    @property
    def may_have_copies(self) -> bool:
        """Whether the stores of some erasure were purged, and copies of older generations may be left."""
        return any("memories" in e.held and "generations" not in e.held for e in self.open.values())

    @property
    def awaits_copies(self) -> bool:
        """Whether nothing but such copies is left of what some erasure had in the stores."""
        return any(e.purged_at and "generations" not in e.held for e in self.open.values())

    def hold_in_stores(self, generation: int) -> None:
        """The stores of this generation were purged.

        Before its plan nobody knows which other memories an erasure has derived again.
        """
        for erasure in self.open.values():
            erasure.hold(IN_STORES, generation)
            if erasure.is_planned:
                erasure.hold(IN_NEIGHBOURS, generation)
            if erasure.is_planned and not erasure.asks:
                erasure.hold(("context_vectors",), generation)

    def hold_elsewhere(self, generation: int, *, is_retired: bool) -> None:
        """Record what holds besides the stores; erasures with nothing left to do are dropped afterwards."""
        for erasure in self.open.values():
            if is_retired and 0 < erasure.purged_at < generation:
                erasure.hold(("generations",), generation)
            if erasure.are_streams_clean:
                erasure.hold(IN_STREAMS, generation)
            if erasure.is_state_key_replaced:
                erasure.hold(IN_BACKUPS, generation)

    def published(self) -> None:
        """A generation has what was recorded: forget erasures whose receipt says that everything is done."""
        self.open = {n: e for n, e in self.open.items() if not e.is_complete or e.is_changed}
        for erasure in self.open.values():
            erasure.is_plan_stored = erasure.is_planned

    def count_everywhere(self, place: str, count: int) -> None:
        """Add what was removed for all erasures that are under way."""
        for erasure in self.open.values():
            if place not in erasure.held and count:
                erasure.add(place, count)

    def note_copy(self) -> None:
        """Record that HELIX_DERIVED has a message that quotes something erased."""
        self.has_copies = self.has_new_copies = True

    def dropped_copies(self) -> None:
        """Record that HELIX_DERIVED has lost the bytes of what came before the round that ends."""
        self.has_copies = self.has_new_copies

    def note_late(self, tenant_id: str, sequence: int) -> None:
        """Record that an erased event was published again."""
        self.late[sequence] = tenant_id

    def derived_again(self, events: Iterable[int]) -> bool:
        """Record that events were derived again, or are gone.

        Returns whether the stores can be purged of the vectors of before.
        """
        had_asks = [erasure for erasure in self.open.values() if erasure.asks]
        was_asked = bool(self.asks)
        self.asks.difference_update(events)
        for erasure in had_asks:
            before = len(erasure.asks)
            erasure.asks.difference_update(events)
            erasure.add("context_vectors", before - len(erasure.asks))
        return any(not erasure.asks for erasure in had_asks) or (was_asked and not self.asks)

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "open": [erasure.to_json() for erasure in self.open.values()],
            "late": sorted(self.late.items()),
            "asks": sorted(self.asks),
            "blanked": sorted(self.blanked),
            "copies": self.has_copies,
            "unpurged": self.is_unpurged,
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Self:
        """The inverse of `to_json`."""
        found = [Erasure.from_json(erasure) for erasure in value["open"]]
        opened = {erasure.sequence: erasure for erasure in found}
        asks, blanked = set(value["asks"]), set(value["blanked"])
        found_erasures = cls(opened, dict(value["late"]), asks, blanked, has_copies=value["copies"])
        found_erasures.is_unpurged = value.get("unpurged", False)  # older states lack it
        return found_erasures
