"""What one round of `eraser` works on."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from helix_consolidation.ledger.event_reach import Actor
    from helix_consolidation.ledger.lifecycle.erasures import Erasure


@dataclass(slots=True)
class Task:
    """One erasure that is planned or cleaned."""

    sequence: int
    tenant_id: str
    actor: Actor
    selects_more: bool
    """Whether it may select events that have no memory."""
    events: set[int]
    memories: int = 0
    """How many left the stores."""
    whole_owner: str | None = None
    """Owner of whom no event before the erase event is left; None: not looked up yet."""
    counts: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))
    silent: set[tuple[str, str]] = field(default_factory=set)
    """Session and id of each removed event that has no memory."""
    nexts: set[int] = field(default_factory=set)
    """Turns right after a removed one: their memories, and those of the turn before, were made with it."""
    is_done: bool = False
    """Whether the plan is complete, or nothing is left in the streams."""

    @classmethod
    def of(cls, one: Erasure) -> Self:
        """A copy of what the writer's state has of an erasure."""
        memories = one.counts.get("memories", 0)
        more, events = one.kind != "memory", set(one.events)
        return cls(one.sequence, one.tenant_id, one.actor, more, events, memories, one.whole_owner)

    def take_over_plan(self, erasure: Erasure) -> None:
        """Record the plan: a generation has it before anything is removed."""
        erasure.whole_owner = self.whole_owner
        if self.is_done:
            erasure.events, erasure.is_planned = self.events, True
            erasure.asks |= self.nexts

    def take_over(self, erasure: Erasure) -> None:
        """Record what was removed."""
        for name, count in self.counts.items():
            if count:
                erasure.add(name, count)
        erasure.whole_owner = self.whole_owner
        if self.is_done:
            erasure.events, erasure.are_streams_clean, erasure.is_changed = set(), True, True


@dataclass(slots=True)
class Round:
    """What one round of cleaning works on, and what became of it."""

    tasks: list[Task]
    late: dict[int, str]
    has_copies: bool
    ends: list[int] = field(default_factory=list)
    """Erasures of which nothing but the state key of backups is left."""
    is_late_done: bool = False
    is_state_key_replaced: bool = False

    @property
    def has_news(self) -> bool:
        """Whether a generation is to have what became of it; a backup may let it do nothing for hours."""
        is_counted = any(task.is_done or any(task.counts.values()) for task in self.tasks)
        return is_counted or self.is_state_key_replaced or (self.is_late_done and bool(self.late))
