"""Folding lifecycle events: forget, restore, erase, feedback, and the replacement of a document.

An event becomes an act that hides what it reaches at once; `settle` carries it out when every event before it
is answered. Nothing is removed earlier: a correction on its way takes session and document from the memory it
corrects, and without them an erasure of that session would not reach it. What an event reaches is said in
`reach`, why acts wait in `acts`. Ids that are unknown, foreign or out of reach are passed over alike: nobody
learns from the outcome which memories exist.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from helix_consolidation.ledger.acts import Act
from helix_consolidation.ledger.reach import own_scope_of, scope_code, scope_of
from helix_consolidation.ledger.tombstones import Forgotten, Usage
from helix_memory.events import EraseEvent, FeedbackEvent, ForgetEvent

if TYPE_CHECKING:
    from collections.abc import Iterable

    from helix_consolidation.folding.folding import Folding
    from helix_consolidation.ledger.acts import ActKind
    from helix_consolidation.ledger.reach import Axis
    from helix_shared.edges import Origin

LifecycleEvent = ForgetEvent | EraseEvent | FeedbackEvent


def act_of(event: LifecycleEvent, sequence: int, at: int) -> Act:
    """The act of an event of `sequence`, stored `at` (server time, microseconds)."""
    tenant, code = event.tenant_id, scope_code(event.tenant_id, "event", event.event_id)
    scope = scope_of(tenant, event.user_id, event.acl)
    if isinstance(event, FeedbackEvent):
        named = (_ids(event.helpful), _ids(event.unhelpful))
        return Act(sequence, code, "feedback", tenant, scope, "memory", (), at, *named)
    kind: ActKind = "erase" if isinstance(event, EraseEvent) else "restore" if event.restore else "forget"
    ids = _ids(event.memory_ids)
    axis, values = _selected(event, ids)
    selectors = tuple(scope_code(tenant, axis, value) for value in values)
    return Act(sequence, code, kind, tenant, scope, axis, selectors, at, ids)


def replacement_of(origin: Origin) -> Act:
    """The act by which a new version, or a deletion, of a document ends its earlier pieces."""
    tenant, sequence = origin.tenant_id, origin.event_sequence
    document = scope_code(tenant, "document", origin.replaces_document)
    scope = (
        scope_of(tenant, origin.user_id, origin.acl)
        if origin.is_deletion
        else own_scope_of(tenant, origin.user_id)
    )
    event = scope_code(tenant, "event", origin.event_id)
    return Act(sequence, event, "replace", tenant, scope, "document", (document,))


def fold_act(folding: Folding, act: Act) -> None:
    """Let an act hide what it reaches; a repeat of an event that was carried out changes nothing."""
    known = folding.known
    if known.tombstones.is_repeat(act.event, act.sequence):
        return
    _restand(folding, known.pending.add(act))


def cancel_replacement(folding: Folding, tenant_id: str, event_id: str, *, after: int) -> None:
    """Take back the replacement of a document by an event that was published before, at `after`."""
    code = scope_code(tenant_id, "event", event_id)
    _restand(folding, folding.known.pending.cancel(code, after=after))


def settle(folding: Folding) -> None:
    """Carry out, in the order of the log, every act before which all events are answered.

    Rows that came before the answer to their event are withdrawn when that is there without them.
    """
    known = folding.known
    for event in [event for event in known.provisional if event in known.applied]:
        ordinals = known.provisional.pop(event)
        for ordinal in ordinals:
            known.tombstones.withdraw(known.ledger.code(ordinal), withdrawn=True)
        folding.restand(sorted(ordinals))
    for act in known.pending.due(known.applied.floor):
        if known.tombstones.is_repeat(act.event, act.sequence):
            _restand(folding, [act])
            continue
        known.tombstones.see(act.event, act.sequence)
        _carry_out(folding, act)


def _carry_out(folding: Folding, act: Act) -> None:
    tombstones, reached = folding.known.tombstones, folding.reached(act)
    if act.kind == "feedback":
        _count(folding, act)
        return
    for selector in act.selectors:
        if act.kind == "erase":
            tombstones.erase(selector, act.scope, act.sequence)
        elif act.kind == "replace":
            tombstones.replace(selector, act.scope, act.sequence)
        else:
            tombstones.forget(selector, act.scope, Forgotten(act.sequence, act.kind == "forget", act.at))
    if act.kind == "erase":
        folding.remove(reached, erased_at=act.sequence)
    else:
        folding.restand(reached)


def _count(folding: Folding, act: Act) -> None:
    for memory_id in sorted({*act.memory_ids, *act.unhelpful}):
        ordinal = folding.find(act.tenant_id, memory_id)
        if ordinal is not None and act.covers(folding.known.ledger.bearings(ordinal)):
            helpful, unhelpful = memory_id in act.memory_ids, memory_id in act.unhelpful
            folding.changes.use(ordinal, Usage(int(helpful), int(unhelpful), 1, act.at))


def _restand(folding: Folding, acts: Iterable[Act]) -> None:
    for act in acts:
        if act.kind != "feedback":
            folding.restand(folding.reached(act))


def _selected(event: ForgetEvent | EraseEvent, ids: tuple[str, ...]) -> tuple[Axis, tuple[str, ...]]:
    """The one way in which an event names memories."""
    named: dict[Axis, str] = {
        "session": event.of_session,
        "document": event.of_document,
        "user": event.of_user,
    }
    return next(((axis, (value,)) for axis, value in named.items() if value), ("memory", ids))


def _ids(named: Iterable[str]) -> tuple[str, ...]:
    """Ids in order, none twice."""
    return tuple(sorted(set(named)))
