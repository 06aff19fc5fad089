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
IN_QUOTATIONS: Final = ("contexts", "derived_statements")
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
    clean_since: dict[str, int] = field(default_factory=dict)
    """Place -> the first generation in which it holds nothing of what was erased."""
    events: set[int] = field(default_factory=set)
    """Sequences of HELIX_EVENTS that are to be removed."""
    to_rederive: set[int] = field(default_factory=set)
    """Events whose memories quoted what was erased, and that are not derived again yet."""
    is_planned: bool = False
    """Whether `events` and `to_rederive` are complete; the log is read for both before events are removed."""
    is_plan_stored: bool = False
    """Whether a generation has stored the plan, so that a restart does not lose it."""
    emptied_owner: str | None = None
    """Owner who has no event left before the erase event; empty: there is none; not saved."""
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

    def mark_clean(self, places: Iterable[str], generation: int) -> None:
        """Record that places are clean from a generation on; a later generation changes nothing."""
        for place in places:
            if place not in self.clean_since:
                self.clean_since[place] = generation
                self.is_changed = True

    @property
    def purged_at(self) -> int:
        """The first generation whose stores hold nothing of it, quotations included; 0: they still may."""
        return self.clean_since.get("context_vectors", 0)

    @property
    def is_out_of_streams(self) -> bool:
        """Whether the streams hold nothing of it any more."""
        return all(place in self.clean_since for place in IN_STREAMS)

    @property
    def is_clean_here(self) -> bool:
        """Whether nothing but its copies in backups is left."""
        return all(place in self.clean_since for place in PLACES if place not in IN_BACKUPS)

    @property
    def is_complete(self) -> bool:
        """Whether nothing is left to be done."""
        return all(place in self.clean_since for place in PLACES)

    @property
    def receipt(self) -> Receipt:
        """The receipt, which is kept for ever and shown to the caller who erased."""
        places = {name: Place(self.counts.get(name, 0), self.clean_since.get(name, 0)) for name in PLACES}
        principals = tuple(sorted(self.actor.principals))
        return Receipt(self.event, self.actor.user, principals, self.sequence, places)

    def to_json(self) -> list[Any]:
        """Plain values."""
        actor = [self.actor.user, sorted(self.actor.principals)]
        sets = [sorted(self.events), sorted(self.to_rederive)]
        rest = [self.counts, self.clean_since, *sets, self.is_planned]
        return [self.sequence, self.event, self.tenant_id, actor, self.kind, *rest]

    @classmethod
    def from_json(cls, value: list[Any]) -> Self:
        """The inverse of `to_json`."""
        (
            sequence,
            event,
            tenant_id,
            (user, principals),
            kind,
            counts,
            clean_since,
            events,
            to_rederive,
            *rest,
        ) = value
        found = cls(sequence, event, tenant_id, Actor(user, frozenset(principals)), kind, counts, clean_since)
        found.events, found.to_rederive, found.is_changed = set(events), set(to_rederive), False
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
    """The erasures that are not complete."""

    open: dict[int, Erasure] = field(default_factory=dict)
    """Erasures by the sequence of the erase event."""
    republished: dict[int, str] = field(default_factory=dict)
    """Sequences of HELIX_EVENTS under which an erased event was published again, with their tenants."""
    to_rederive: set[int] = field(default_factory=set)
    """Events to be derived again whose memories came after the erasure of what they quote."""
    blanked: set[int] = field(default_factory=set)
    """Ordinals whose context was emptied, and whose vector was still made with it."""
    has_quoting_messages: bool = False
    """Whether HELIX_DERIVED may hold the bytes of a message that quotes something erased."""
    has_new_quoting_messages: bool = False
    """Whether such a message came since the running round began."""
    is_unpurged: bool = False
    """Whether the last generation may hold bytes of what was erased, or was moved away."""

    def drop_foreign(self, stays: Callable[[str], bool]) -> None:
        """Drop the erasures of other tenants: the writer of their shard has them."""
        self.open = {sequence: one for sequence, one in self.open.items() if stays(one.tenant_id)}
        self.republished = {sequence: one for sequence, one in self.republished.items() if stays(one)}

    @property
    def is_idle(self) -> bool:
        """Whether nothing is to be done."""
        return not (self.open or self.republished or self.to_rederive or self.has_quoting_messages)

    @property
    def has_unpurged(self) -> bool:
        """Whether the stores may still hold bytes of what was erased."""
        return self.is_unpurged or any(
            "memories" not in erasure.clean_since for erasure in self.open.values()
        )

    @property
    def may_be_in_old_generations(self) -> bool:
        """Whether generations from before a purge may still hold something erased."""
        return any(
            "memories" in e.clean_since and "generations" not in e.clean_since for e in self.open.values()
        )

    @property
    def awaits_old_generations(self) -> bool:
        """Whether some erasure only waits for such generations to be removed."""
        return any(e.purged_at and "generations" not in e.clean_since for e in self.open.values())

    def mark_stores_clean(self, generation: int) -> None:
        """The stores of this generation were purged.

        Before the plan of an erasure it is not known which other events it has derived again.
        """
        for erasure in self.open.values():
            erasure.mark_clean(IN_STORES, generation)
            if erasure.is_planned:
                erasure.mark_clean(IN_QUOTATIONS, generation)
            if erasure.is_planned and not erasure.to_rederive:
                erasure.mark_clean(("context_vectors",), generation)

    def mark_copies_clean(self, generation: int, *, is_retired: bool) -> None:
        """Record what is clean besides the stores; `published` drops complete erasures afterwards."""
        for erasure in self.open.values():
            if is_retired and 0 < erasure.purged_at < generation:
                erasure.mark_clean(("generations",), generation)
            if erasure.are_streams_clean:
                erasure.mark_clean(IN_STREAMS, generation)
            if erasure.is_state_key_replaced:
                erasure.mark_clean(IN_BACKUPS, generation)

    def published(self) -> None:
        """A generation has what was recorded: forget erasures whose receipt says that everything is done."""
        self.open = {n: e for n, e in self.open.items() if not e.is_complete or e.is_changed}
        for erasure in self.open.values():
            erasure.is_plan_stored = erasure.is_planned

    def count_everywhere(self, place: str, count: int) -> None:
        """Add what was removed to every erasure that is not complete."""
        for erasure in self.open.values():
            if place not in erasure.clean_since and count:
                erasure.add(place, count)

    def note_quoting_message(self) -> None:
        """Record that HELIX_DERIVED has a message that quotes something erased."""
        self.has_quoting_messages = self.has_new_quoting_messages = True

    def dropped_quoting_messages(self) -> None:
        """Record that HELIX_DERIVED has lost the bytes of what came before the round that ends."""
        self.has_quoting_messages = self.has_new_quoting_messages

    def note_republished(self, tenant_id: str, sequence: int) -> None:
        """Record that an erased event was published again."""
        self.republished[sequence] = tenant_id

    def record_rederived(self, events: Iterable[int]) -> bool:
        """Record that events were derived again, or are gone.

        Returns whether the stores can be purged of the vectors that were replaced.
        """
        unfinished = [erasure for erasure in self.open.values() if erasure.to_rederive]
        had_events = bool(self.to_rederive)
        self.to_rederive.difference_update(events)
        for erasure in unfinished:
            before = len(erasure.to_rederive)
            erasure.to_rederive.difference_update(events)
            erasure.add("context_vectors", before - len(erasure.to_rederive))
        return any(not erasure.to_rederive for erasure in unfinished) or (had_events and not self.to_rederive)

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "open": [erasure.to_json() for erasure in self.open.values()],
            "late": sorted(self.republished.items()),
            "asks": sorted(self.to_rederive),
            "blanked": sorted(self.blanked),
            "copies": self.has_quoting_messages,
            "unpurged": self.is_unpurged,
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Self:
        """The inverse of `to_json`."""
        found = [Erasure.from_json(erasure) for erasure in value["open"]]
        opened = {erasure.sequence: erasure for erasure in found}
        to_rederive, blanked = set(value["asks"]), set(value["blanked"])
        found_erasures = cls(
            opened, dict(value["late"]), to_rederive, blanked, has_quoting_messages=value["copies"]
        )
        found_erasures.is_unpurged = value.get("unpurged", False)  # older states lack it
        return found_erasures
