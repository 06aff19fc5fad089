"""Folding lifecycle events: forget, restore, erase, feedback, and the replacement of a document.

An event becomes a `LifecycleAction`, which hides what it reaches at once. `apply_due_actions` carries it out
when every earlier event is processed. Nothing is removed before that: a correction still to come copies
session and document from the memory it corrects, and without them an erasure of that session would miss it.
Ids that are unknown, of another tenant or out of reach are skipped without an error, so the outcome does not
tell which memories exist. `event_reach` says what an event reaches, `pending_actions` why actions wait.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from helix_consolidation.ledger.event_reach import actor_of, own_actor_of, value_code
from helix_consolidation.ledger.pending_actions import LifecycleAction
from helix_consolidation.ledger.tombstones import ForgetRecord, Usage
from helix_memory.events import EraseEvent, FeedbackEvent, ForgetEvent

if TYPE_CHECKING:
    from collections.abc import Iterable

    from helix_consolidation.folding.context import FoldContext
    from helix_consolidation.ledger.event_reach import SelectorKind
    from helix_consolidation.ledger.pending_actions import ActionKind
    from helix_shared.edges import Origin

LifecycleEvent = ForgetEvent | EraseEvent | FeedbackEvent


def action_of(event: LifecycleEvent, sequence: int, at: int) -> LifecycleAction:
    """The act of an event of `sequence`, stored `at` (server time, microseconds)."""
    tenant, code = event.tenant_id, value_code(event.tenant_id, "event", event.event_id)
    scope = actor_of(tenant, event.user_id, event.acl)
    if isinstance(event, FeedbackEvent):
        named = (_ids(event.helpful), _ids(event.unhelpful))
        return LifecycleAction(sequence, code, "feedback", tenant, scope, "memory", (), at, *named)
    kind: ActionKind = "erase" if isinstance(event, EraseEvent) else "restore" if event.restore else "forget"
    ids = _ids(event.memory_ids)
    selector_kind, values = _selected(event, ids)
    selectors = tuple(value_code(tenant, selector_kind, value) for value in values)
    return LifecycleAction(sequence, code, kind, tenant, scope, selector_kind, selectors, at, ids)


def replacement_of(origin: Origin) -> LifecycleAction:
    """The act by which a new version, or a deletion, of a document ends its earlier pieces."""
    tenant, sequence = origin.tenant_id, origin.event_sequence
    document = value_code(tenant, "document", origin.replaces_document)
    scope = (
        actor_of(tenant, origin.user_id, origin.acl)
        if origin.is_deletion
        else own_actor_of(tenant, origin.user_id)
    )
    event = value_code(tenant, "event", origin.event_id)
    return LifecycleAction(sequence, event, "replace", tenant, scope, "document", (document,))


def fold_action(context: FoldContext, action: LifecycleAction) -> None:
    """Let an act hide what it reaches; a repeat of an event that was carried out changes nothing."""
    state = context.state
    if state.tombstones.is_repeat(action.event, action.sequence):
        return
    _restand(context, state.pending.add(action))


def cancel_replacement(context: FoldContext, tenant_id: str, event_id: str, *, after: int) -> None:
    """Take back the replacement of a document by an event that was published before, at `after`."""
    code = value_code(tenant_id, "event", event_id)
    _restand(context, context.state.pending.cancel(code, after=after))


def apply_due_actions(context: FoldContext) -> None:
    """Carry out, in the order of the log, every act before which all events are answered.

    Rows that came before the answer to their event are withdrawn when that is there without them.
    """
    state = context.state
    for event in [event for event in state.provisional if event in state.applied]:
        ordinals = state.provisional.pop(event)
        for ordinal in ordinals:
            state.tombstones.withdraw(state.ledger.code(ordinal), withdrawn=True)
        context.update_status(sorted(ordinals))
    for action in state.pending.due(state.applied.floor):
        if state.tombstones.is_repeat(action.event, action.sequence):
            _restand(context, [action])
            continue
        state.tombstones.see(action.event, action.sequence)
        _carry_out(context, action)


def _carry_out(context: FoldContext, action: LifecycleAction) -> None:
    tombstones, reached = context.state.tombstones, context.reached(action)
    if action.kind == "feedback":
        _count(context, action)
        return
    for selector in action.selectors:
        if action.kind == "erase":
            tombstones.erase(selector, action.scope, action.sequence)
        elif action.kind == "replace":
            tombstones.replace(selector, action.scope, action.sequence)
        else:
            tombstones.forget(
                selector, action.scope, ForgetRecord(action.sequence, action.kind == "forget", action.at)
            )
    if action.kind == "erase":
        context.remove(reached, erased_at=action.sequence)
    else:
        context.update_status(reached)


def _count(context: FoldContext, action: LifecycleAction) -> None:
    for memory_id in sorted({*action.memory_ids, *action.unhelpful}):
        ordinal = context.find(action.tenant_id, memory_id)
        if ordinal is not None and action.reaches(context.state.ledger.memory_facts(ordinal)):
            helpful, unhelpful = memory_id in action.memory_ids, memory_id in action.unhelpful
            context.changes.use(ordinal, Usage(int(helpful), int(unhelpful), 1, action.at))


def _restand(context: FoldContext, actions: Iterable[LifecycleAction]) -> None:
    for action in actions:
        if action.kind != "feedback":
            context.update_status(context.reached(action))


def _selected(event: ForgetEvent | EraseEvent, ids: tuple[str, ...]) -> tuple[SelectorKind, tuple[str, ...]]:
    """The one way in which an event names memories."""
    named: dict[SelectorKind, str] = {
        "session": event.of_session,
        "document": event.of_document,
        "user": event.of_user,
    }
    return next(
        ((selector_kind, (value,)) for selector_kind, value in named.items() if value), ("memory", ids)
    )


def _ids(named: Iterable[str]) -> tuple[str, ...]:
    """Ids in order, none twice."""
    return tuple(sorted(set(named)))
