"""Lifecycle actions that wait: lifecycle events, and replacements of documents, as the writer keeps them.

An action is *pending* until every earlier event is processed. Until then it hides what it reaches: a lower
publication of the same event id may still arrive, or a memory that it reaches. Then
`lifecycle.apply_due_actions` carries out the pending actions in the order of the log. So the outcome does not
depend on the order of arrival, and forgetting and erasing take effect at once.
"""

from __future__ import annotations

import bisect
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, Self

from helix_consolidation.ledger.event_reach import Actor, SelectorKind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from helix_consolidation.ledger.event_reach import MemoryFacts

ActionKind = Literal["forget", "restore", "erase", "undo", "feedback", "replace"]
DELETED_DOCUMENT: Final = "document"
"""Stands for an id in the action of a deletion, which names one document."""
_HIDING: Final = ("forget", "restore", "erase", "replace")


@dataclass(frozen=True, slots=True)
class LifecycleAction:
    """One event; `event` and `selectors` are codes, `at` is server time in microseconds.

    `memory_ids` are named ids; of feedback the helpful ones, and `unhelpful` the others; of the deletion of a
    document `DELETED_DOCUMENT`. The selectors of an undo are its memory and, if given, the other one.
    """

    sequence: int
    event: int
    kind: ActionKind
    tenant_id: str
    actor: Actor
    selector_kind: SelectorKind
    selectors: tuple[int, ...] = ()
    at: int = 0
    memory_ids: tuple[str, ...] = ()
    unhelpful: tuple[str, ...] = ()

    def reaches(self, memory: MemoryFacts) -> bool:
        """Whether the action reaches a memory that it selects: only memories of earlier events."""
        return self.sequence > memory.stream_sequence and self.actor.reaches(memory.visibility, memory.user)

    def to_json(self) -> list[Any]:
        """Plain values."""
        actor = [self.actor.user, sorted(self.actor.principals), self.actor.is_own]
        named = [list(self.selectors), list(self.memory_ids), list(self.unhelpful)]
        return [
            self.sequence,
            self.event,
            self.kind,
            self.tenant_id,
            actor,
            self.selector_kind,
            self.at,
            *named,
        ]

    @classmethod
    def from_json(cls, value: list[Any]) -> Self:
        """The inverse of `to_json`."""
        sequence, event, kind, tenant_id, (user, principals, own), selector_kind, at, *named = value
        actor = Actor(user, frozenset(principals), own)
        selectors, ids, unhelpful = map(tuple, named)
        return cls(sequence, event, kind, tenant_id, actor, selector_kind, selectors, at, ids, unhelpful)


@dataclass(slots=True)
class PendingActions:
    """The actions that wait for earlier events, ascending by sequence.

    Of several actions of one event id only the first is in force; the others are repeats of it.
    """

    actions: list[LifecycleAction] = field(default_factory=list)
    _of_event: dict[int, list[LifecycleAction]] = field(default_factory=dict)
    """By event, ascending by sequence: the first is in force."""
    _by_selector: dict[int, list[LifecycleAction]] = field(default_factory=dict)
    """Actions in force that hide something."""
    _encoded: dict[int, tuple[LifecycleAction, str]] = field(default_factory=dict, compare=False)
    """By sequence, from the last call of `encoded`."""

    @property
    def first(self) -> int | None:
        """Sequence of the first action; None if there is none."""
        return self.actions[0].sequence if self.actions else None

    def encoded(self) -> str:
        """All actions as a JSON array; each action is encoded once."""
        before, self._encoded = self._encoded, {}
        for action in self.actions:
            found = before.get(action.sequence)
            if found is None or found[0] is not action:
                found = action, json.dumps(action.to_json(), separators=(",", ":"))
            self._encoded[action.sequence] = found
        return f"[{','.join(text for _, text in self._encoded.values())}]"

    def add(self, action: LifecycleAction) -> list[LifecycleAction]:
        """Keep an action; returns those that came into force or lost it."""
        at = bisect.bisect_left(self.actions, action.sequence, key=_sequence)
        if at < len(self.actions) and self.actions[at].sequence == action.sequence:
            return []
        self.actions.insert(at, action)
        return self._index(action)

    def cancel(self, event: int, *, after: int) -> list[LifecycleAction]:
        """Drop document replacements of sequences above `after` by an event; returns them."""
        found = self._of_event.get(event, [])
        dropped = [action for action in found if action.kind == "replace" and action.sequence > after]
        if dropped:
            self._take_out(dropped)
            self._unindex(event)
            for action in found:
                if action not in dropped:
                    self._index(action)
        return dropped

    def due(self, floor: int) -> list[LifecycleAction]:
        """Take out the actions with all earlier events processed, and their repeats; returns them in order.

        The cost is that of the due actions, not of all pending ones.
        """
        if not self.actions or self.actions[0].sequence > floor:
            return []
        reached = self.until(floor)
        ready = [action for action in reached if self._of_event[action.event][0] is action]
        # a repeat follows the first action of its event, so everything up to the floor is taken out
        del self.actions[: len(reached)]
        for action in ready:
            self._take_out(repeat for repeat in self._of_event[action.event] if repeat.sequence > floor)
            self._unindex(action.event)
        return ready

    def until(self, floor: int) -> list[LifecycleAction]:
        """The actions with all earlier events processed."""
        return self.actions[: bisect.bisect_right(self.actions, floor, key=_sequence)]

    def reaching(self, memory: MemoryFacts) -> list[LifecycleAction]:
        """The actions in force that reach a memory, without feedback."""
        if not self._by_selector:
            return []
        listed = (action for code in memory.selectors for action in self._by_selector.get(code, ()))
        return [action for action in listed if action.reaches(memory)]

    def _index(self, action: LifecycleAction) -> list[LifecycleAction]:
        """Take an action into the indexes; returns those that came into force or lost it."""
        of_event = self._of_event.setdefault(action.event, [])
        bisect.insort(of_event, action, key=_sequence)
        if of_event[0] is not action:
            return []
        self._enforce(action)
        if len(of_event) == 1:
            return [action]
        self._relax(of_event[1])
        return [action, of_event[1]]

    def _take_out(self, actions: Iterable[LifecycleAction]) -> None:
        for action in actions:
            del self.actions[bisect.bisect_left(self.actions, action.sequence, key=_sequence)]

    def _unindex(self, event: int) -> None:
        self._relax(self._of_event.pop(event)[0])

    def _enforce(self, action: LifecycleAction) -> None:
        for selector in action.selectors if action.kind in _HIDING else ():
            self._by_selector.setdefault(selector, []).append(action)

    def _relax(self, action: LifecycleAction) -> None:
        for selector in action.selectors if action.kind in _HIDING else ():
            listed = self._by_selector[selector]
            listed.remove(action)
            if not listed:
                del self._by_selector[selector]

    @classmethod
    def of(cls, actions: list[LifecycleAction]) -> Self:
        """From stored actions, ascending."""
        pending = cls(actions)
        for action in actions:
            pending._index(action)
        return pending


def _sequence(action: LifecycleAction) -> int:
    return action.sequence
