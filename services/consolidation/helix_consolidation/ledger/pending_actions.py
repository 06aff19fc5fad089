"""Acts: lifecycle events, and replacements of documents, in the form the writer keeps them.

An act is *pending* until every event before it is answered. Until then it hides what it reaches: a lower
publication of the same event id may still come, or a memory that it reaches. Then `lifecycle.settle` carries
out the pending acts in the order of the log. So the outcome is that of the log whatever the order of arrival,
while forgetting and erasing take effect at once.
"""

from __future__ import annotations

import bisect
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, Self

from helix_consolidation.ledger.event_reach import Actor, SelectorKind, reaches

if TYPE_CHECKING:
    from collections.abc import Iterable

    from helix_consolidation.ledger.memory_status import MemoryFacts

ActionKind = Literal["forget", "restore", "erase", "feedback", "replace"]
_HIDING: Final = ("forget", "restore", "erase", "replace")


@dataclass(frozen=True, slots=True)
class LifecycleAction:
    """One event; `event` and `selectors` are codes, `at` is server time in microseconds.

    `memory_ids` are named ids; of feedback the helpful ones, and `unhelpful` the others.
    """

    sequence: int
    event: int
    kind: ActionKind
    tenant_id: str
    scope: Actor
    selector_kind: SelectorKind
    selectors: tuple[int, ...] = ()
    at: int = 0
    memory_ids: tuple[str, ...] = ()
    unhelpful: tuple[str, ...] = ()

    def reaches(self, row: MemoryFacts) -> bool:
        """Whether the act reaches a row that one of its selectors names: only rows of earlier events."""
        return self.sequence > row.stream_sequence and reaches(self.scope, row.visibility, row.user)

    def to_json(self) -> list[Any]:
        """Plain values."""
        scope = [self.scope.user, sorted(self.scope.principals), self.scope.is_own]
        named = [list(self.selectors), list(self.memory_ids), list(self.unhelpful)]
        return [
            self.sequence,
            self.event,
            self.kind,
            self.tenant_id,
            scope,
            self.selector_kind,
            self.at,
            *named,
        ]

    @classmethod
    def from_json(cls, value: list[Any]) -> Self:
        """The inverse of `to_json`."""
        (
            sequence,
            event,
            kind,
            tenant_id,
            (user, principals, own),
            selector_kind,
            at,
            selectors,
            ids,
            unhelpful,
        ) = value
        scope = Actor(user, frozenset(principals), own)
        named = (tuple(selectors), at, tuple(ids), tuple(unhelpful))
        return cls(sequence, event, kind, tenant_id, scope, selector_kind, *named)


@dataclass(slots=True)
class PendingActions:
    """The acts that wait for earlier events, ascending by sequence.

    Of several acts of one event id only the first is in force; the others are repeats of it.
    """

    actions: list[LifecycleAction] = field(default_factory=list)
    _of_event: dict[int, list[LifecycleAction]] = field(default_factory=dict)
    """By event, ascending by sequence: the first is in force."""
    _by_selector: dict[int, list[LifecycleAction]] = field(default_factory=dict)
    """What is in force and hides."""
    _encoded: dict[int, tuple[LifecycleAction, str]] = field(default_factory=dict, compare=False)
    """By sequence, from the last time all were encoded."""

    def encoded(self) -> str:
        """All acts as a JSON array; an act is encoded once."""
        before, self._encoded = self._encoded, {}
        for action in self.actions:
            known = before.get(action.sequence)
            if known is None or known[0] is not action:
                known = action, json.dumps(action.to_json(), separators=(",", ":"))
            self._encoded[action.sequence] = known
        return f"[{','.join(text for _, text in self._encoded.values())}]"

    def add(self, action: LifecycleAction) -> list[LifecycleAction]:
        """Keep an act; returns those that came into force or lost it."""
        at = bisect.bisect_left(self.actions, action.sequence, key=_sequence)
        if at < len(self.actions) and self.actions[at].sequence == action.sequence:
            return []
        self.actions.insert(at, action)
        return self._index(action)

    def cancel(self, event: int, *, after: int) -> list[LifecycleAction]:
        """Drop replacements of a document by an event that was published at `after` already."""
        found = self._of_event.get(event, [])
        dropped = [action for action in found if action.kind == "replace" and action.sequence > after]
        if dropped:
            self._take_out(dropped)
            self._forget(event)
            for action in found:
                if action not in dropped:
                    self._index(action)
        return dropped

    def due(self, floor: int) -> list[LifecycleAction]:
        """Take out the acts before which every event is answered, with their repeats, in order.

        Costs what is due, not what is pending.
        """
        if not self.actions or self.actions[0].sequence > floor:
            return []
        reached = self.actions[: bisect.bisect_right(self.actions, floor, key=_sequence)]
        ready = [action for action in reached if self._of_event[action.event][0] is action]
        # a repeat follows the first of its event, so nothing is left of what was reached
        del self.actions[: len(reached)]
        for action in ready:
            self._take_out(repeat for repeat in self._of_event[action.event] if repeat.sequence > floor)
            self._forget(action.event)
        return ready

    def reaching(self, row: MemoryFacts) -> list[LifecycleAction]:
        """The acts in force that reach a row, without feedback."""
        if not self._by_selector:
            return []
        listed = (action for selector in row.selectors for action in self._by_selector.get(selector, ()))
        return [action for action in listed if action.reaches(row)]

    def _index(self, action: LifecycleAction) -> list[LifecycleAction]:
        """Take an act into the indexes; returns those that came into force or lost it."""
        known = self._of_event.setdefault(action.event, [])
        bisect.insort(known, action, key=_sequence)
        if known[0] is not action:
            return []
        self._enforce(action)
        if len(known) == 1:
            return [action]
        self._relax(known[1])
        return [action, known[1]]

    def _take_out(self, actions: Iterable[LifecycleAction]) -> None:
        for action in actions:
            del self.actions[bisect.bisect_left(self.actions, action.sequence, key=_sequence)]

    def _forget(self, event: int) -> None:
        """Take all acts of an event out of the indexes."""
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
        """With acts that were kept before, ascending."""
        pending = cls(actions)
        for action in actions:
            pending._index(action)
        return pending


def _sequence(action: LifecycleAction) -> int:
    return action.sequence
