"""Folding lifecycle events: forget, restore, erase, feedback.

They act inside their tenant, on rows of a lower stream sequence than their own; what arrives
later is judged by the tombstone each of them leaves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from helix.events import EraseEvent, FeedbackEvent, ForgetEvent
from helix_consolidation.tombstones import Forgotten, Usage, scope_code, selectors_of

if TYPE_CHECKING:
    from helix_consolidation.folding import Folding

LifecycleEvent = ForgetEvent | EraseEvent | FeedbackEvent


def fold_lifecycle(folding: Folding, event: LifecycleEvent, sequence: int, at: int) -> None:
    """Fold one event of `sequence`, stored `at` (server time, microseconds).

    An event id that was applied under a lower sequence changes nothing.
    """
    code = scope_code(event.tenant_id, "event", event.event_id)
    if folding.known.tombstones.is_repeat(code, sequence):
        return
    if isinstance(event, ForgetEvent):
        _forget(folding, event, Forgotten(sequence, not event.restore, at))
    elif isinstance(event, EraseEvent):
        _erase(folding, event, sequence)
    else:
        _feedback(folding, event, at)


def _forget(folding: Folding, event: ForgetEvent, verdict: Forgotten) -> None:
    for axis, code in selectors_of(event.tenant_id, event):
        folding.known.tombstones.forget(code, verdict)
        if axis != "memory":
            folding.restand(folding.known.ledger.selected(axis, code, before=verdict.sequence))
    folding.restand(_named(folding, event))


def _erase(folding: Folding, event: EraseEvent, sequence: int) -> None:
    ordinals = _named(folding, event)
    for axis, code in selectors_of(event.tenant_id, event):
        if axis == "memory":
            folding.known.tombstones.dropped.add(code)
        else:
            folding.known.tombstones.erase(code, sequence)
            ordinals += folding.known.ledger.selected(axis, code, before=sequence)
    _remove(folding, ordinals)


def _remove(folding: Folding, ordinals: list[int]) -> None:
    ledger = folding.known.ledger
    folding.unrepeat(ordinals)
    for ordinal in ordinals:
        code = scope_code(ledger.tenant_id(ordinal), "memory", ledger.memory_id(ordinal))
        folding.known.tombstones.dropped.add(code)
        folding.known.near.forget(ordinal)
        ledger.erase(ordinal)
        folding.changes.erase(ordinal)


def _feedback(folding: Folding, event: FeedbackEvent, at: int) -> None:
    for memory_id in {*event.helpful, *event.unhelpful}:
        usage = Usage(int(memory_id in event.helpful), int(memory_id in event.unhelpful), 1, at)
        ordinal = folding.find(event.tenant_id, memory_id)
        if ordinal is not None:
            folding.changes.use(ordinal, usage)
            continue
        code = scope_code(event.tenant_id, "memory", memory_id)
        if not folding.known.tombstones.is_dropped(code):
            folding.known.tombstones.await_memory(code, usage)


def _named(folding: Folding, event: ForgetEvent | EraseEvent) -> list[int]:
    found = (folding.find(event.tenant_id, memory_id) for memory_id in set(event.memory_ids))
    return [ordinal for ordinal in found if ordinal is not None]
