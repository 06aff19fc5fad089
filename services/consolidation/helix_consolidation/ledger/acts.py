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

from helix_consolidation.ledger.reach import Axis, Scope, reaches

if TYPE_CHECKING:
    from collections.abc import Iterable

    from helix_consolidation.ledger.standing import Bearings

ActKind = Literal["forget", "restore", "erase", "feedback", "replace"]
_HIDING: Final = ("forget", "restore", "erase", "replace")


@dataclass(frozen=True, slots=True)
class Act:
    """One event; `event` and `selectors` are codes, `at` is server time in microseconds.

    `memory_ids` are named ids; of feedback the helpful ones, and `unhelpful` the others.
    """

    sequence: int
    event: int
    kind: ActKind
    tenant_id: str
    scope: Scope
    axis: Axis
    selectors: tuple[int, ...] = ()
    at: int = 0
    memory_ids: tuple[str, ...] = ()
    unhelpful: tuple[str, ...] = ()

    def covers(self, row: Bearings) -> bool:
        """Whether the act reaches a row that one of its selectors names: only rows of earlier events."""
        return self.sequence > row.stream_sequence and reaches(self.scope, row.visibility, row.user)

    def to_json(self) -> list[Any]:
        """Plain values."""
        scope = [self.scope.user, sorted(self.scope.principals), self.scope.is_own]
        named = [list(self.selectors), list(self.memory_ids), list(self.unhelpful)]
        return [self.sequence, self.event, self.kind, self.tenant_id, scope, self.axis, self.at, *named]

    @classmethod
    def from_json(cls, value: list[Any]) -> Self:
        """The inverse of `to_json`."""
        sequence, event, kind, tenant_id, (user, principals, own), axis, at, selectors, ids, unhelpful = value
        scope = Scope(user, frozenset(principals), own)
        named = (tuple(selectors), at, tuple(ids), tuple(unhelpful))
        return cls(sequence, event, kind, tenant_id, scope, axis, *named)


@dataclass(slots=True)
class Pending:
    """The acts that wait for earlier events, ascending by sequence.

    Of several acts of one event id only the first is in force; the others are repeats of it.
    """

    acts: list[Act] = field(default_factory=list)
    _of_event: dict[int, list[Act]] = field(default_factory=dict)
    """By event, ascending by sequence: the first is in force."""
    _by_selector: dict[int, list[Act]] = field(default_factory=dict)
    """What is in force and hides."""
    _encoded: dict[int, tuple[Act, str]] = field(default_factory=dict, compare=False)
    """By sequence, from the last time all were encoded."""

    def encoded(self) -> str:
        """All acts as a JSON array; an act is encoded once."""
        before, self._encoded = self._encoded, {}
        for act in self.acts:
            known = before.get(act.sequence)
            if known is None or known[0] is not act:
                known = act, json.dumps(act.to_json(), separators=(",", ":"))
            self._encoded[act.sequence] = known
        return f"[{','.join(text for _, text in self._encoded.values())}]"

    def add(self, act: Act) -> list[Act]:
        """Keep an act; returns those that came into force or lost it."""
        at = bisect.bisect_left(self.acts, act.sequence, key=_sequence)
        if at < len(self.acts) and self.acts[at].sequence == act.sequence:
            return []
        self.acts.insert(at, act)
        return self._index(act)

    def cancel(self, event: int, *, after: int) -> list[Act]:
        """Drop replacements of a document by an event that was published at `after` already."""
        found = self._of_event.get(event, [])
        dropped = [act for act in found if act.kind == "replace" and act.sequence > after]
        if dropped:
            self._take_out(dropped)
            self._forget(event)
            for act in found:
                if act not in dropped:
                    self._index(act)
        return dropped

    def due(self, floor: int) -> list[Act]:
        """Take out the acts before which every event is answered, with their repeats, in order.

        Costs what is due, not what is pending.
        """
        if not self.acts or self.acts[0].sequence > floor:
            return []
        reached = self.acts[: bisect.bisect_right(self.acts, floor, key=_sequence)]
        ready = [act for act in reached if self._of_event[act.event][0] is act]
        # a repeat follows the first of its event, so nothing is left of what was reached
        del self.acts[: len(reached)]
        for act in ready:
            self._take_out(repeat for repeat in self._of_event[act.event] if repeat.sequence > floor)
            self._forget(act.event)
        return ready

    def covering(self, row: Bearings) -> list[Act]:
        """The acts in force that reach a row, without feedback."""
        if not self._by_selector:
            return []
        listed = (act for selector in row.selectors for act in self._by_selector.get(selector, ()))
        return [act for act in listed if act.covers(row)]

    def _index(self, act: Act) -> list[Act]:
        """Take an act into the indexes; returns those that came into force or lost it."""
        known = self._of_event.setdefault(act.event, [])
        bisect.insort(known, act, key=_sequence)
        if known[0] is not act:
            return []
        self._enforce(act)
        if len(known) == 1:
            return [act]
        self._relax(known[1])
        return [act, known[1]]

    def _take_out(self, acts: Iterable[Act]) -> None:
        for act in acts:
            del self.acts[bisect.bisect_left(self.acts, act.sequence, key=_sequence)]

    def _forget(self, event: int) -> None:
        """Take all acts of an event out of the indexes."""
        self._relax(self._of_event.pop(event)[0])

    def _enforce(self, act: Act) -> None:
        for selector in act.selectors if act.kind in _HIDING else ():
            self._by_selector.setdefault(selector, []).append(act)

    def _relax(self, act: Act) -> None:
        for selector in act.selectors if act.kind in _HIDING else ():
            listed = self._by_selector[selector]
            listed.remove(act)
            if not listed:
                del self._by_selector[selector]

    @classmethod
    def of(cls, acts: list[Act]) -> Self:
        """With acts that were kept before, ascending."""
        pending = cls(acts)
        for act in acts:
            pending._index(act)
        return pending


def _sequence(act: Act) -> int:
    return act.sequence
