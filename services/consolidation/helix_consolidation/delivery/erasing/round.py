"""What one round of `eraser` works on."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from helix_consolidation.ledger.event_reach import Actor
    from helix_consolidation.ledger.lifecycle.erasures import Erasure


@dataclass(slots=True)
class ErasureTask:
    """One erasure that is planned or cleaned."""

    sequence: int
    tenant_id: str
    actor: Actor
    may_select_without_memory: bool
    """Whether the erasure may select events that have no memory."""
    events: set[int]
    memories: int = 0
    """Number of memories that were removed from the stores."""
    emptied_owner: str | None = None
    """Owner who has no event left before the erase event; empty: there is none; None: not looked up yet."""
    counts: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))
    without_memory: set[tuple[str, str]] = field(default_factory=set)
    """Session and id of each removed event that has no memory."""
    following_turns: set[int] = field(default_factory=set)
    """Turns right after a removed one: their memories were derived with it as context."""
    is_done: bool = False
    """Whether the plan is complete, or nothing is left in the streams."""

    @classmethod
    def of(cls, one: Erasure) -> Self:
        """A copy of what the writer's state has of an erasure."""
        memories = one.counts.get("memories", 0)
        more, events = one.kind != "memory", set(one.events)
        return cls(one.sequence, one.tenant_id, one.actor, more, events, memories, one.emptied_owner)

    def record_plan(self, erasure: Erasure) -> None:
        """Record the plan in the state of the writer: a generation stores it before anything is removed."""
        erasure.emptied_owner = self.emptied_owner
        if self.is_done:
            erasure.events, erasure.is_planned = self.events, True
            erasure.to_rederive |= self.following_turns

    def record_removals(self, erasure: Erasure) -> None:
        """Record in the state of the writer what was removed."""
        for name, count in self.counts.items():
            if count:
                erasure.add(name, count)
        erasure.emptied_owner = self.emptied_owner
        if self.is_done:
            erasure.events, erasure.are_streams_clean, erasure.is_changed = set(), True, True


@dataclass(slots=True)
class Round:
    """What one round of cleaning works on, and what became of it."""

    tasks: list[ErasureTask]
    republished: dict[int, str]
    has_quoting_messages: bool
    only_backups_left: list[int] = field(default_factory=list)
    """Erasures that only wait for the state key of backups to be replaced."""
    are_republished_done: bool = False
    is_state_key_replaced: bool = False

    @property
    def changed_state(self) -> bool:
        """Whether there is something to publish; during a backup, rounds may change nothing for hours."""
        is_counted = any(task.is_done or any(task.counts.values()) for task in self.tasks)
        return (
            is_counted or self.is_state_key_replaced or (self.are_republished_done and bool(self.republished))
        )
