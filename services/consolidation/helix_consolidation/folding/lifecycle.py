"""Folding lifecycle events: forget, restore, erase, undo, feedback, and the replacement of a document.

An event becomes a `LifecycleAction`, which hides what it reaches at once. `apply_due_actions` carries it out
when every earlier event is processed. Nothing is removed before that: a correction still to come copies
session and document from the memory it corrects, and without them an erasure of that session would miss it.
Ids that are unknown, of another tenant or out of reach are skipped without an error, so the outcome does not
tell which memories exist.

A derived statement and its verbatim memory say the same, so an event that names one reaches both.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from helix_consolidation.folding.relate import decide_due
from helix_consolidation.folding.removal import remove
from helix_consolidation.folding.status.links import update_links
from helix_consolidation.folding.status.version_family import update_status
from helix_consolidation.ledger.event_reach import NEVER, NOTHING, actor_of, own_actor_of, value_code
from helix_consolidation.ledger.lifecycle.pending_actions import LifecycleAction
from helix_consolidation.ledger.lifecycle.tombstones import ForgetRecord, Usage
from helix_consolidation.ledger.usage_facts import decayed_at, record_decay
from helix_memory.events import EraseEvent, FeedbackEvent, ForgetEvent, UndoEvent

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from helix_consolidation.folding.context import FoldContext
    from helix_consolidation.folding.incoming.decode import Lifecycle
    from helix_consolidation.ledger.event_reach import SelectorKind
    from helix_consolidation.ledger.lifecycle.pending_actions import ActionKind
    from helix_shared.edges import Origin


def action_of(item: Lifecycle) -> LifecycleAction:
    """The action of a lifecycle event."""
    event, sequence, at = item.event, item.sequence, item.at
    tenant, code = event.tenant_id, value_code(event.tenant_id, "event", event.event_id)
    actor = actor_of(tenant, event.user_id, event.acl)
    if isinstance(event, FeedbackEvent):
        named = (_ids(event.helpful), _ids(event.unhelpful))
        return LifecycleAction(sequence, code, "feedback", tenant, actor, "memory", (), at, *named)
    if isinstance(event, UndoEvent):
        ids = (event.memory_id, *filter(None, (event.other,)))
        codes = tuple(value_code(tenant, "memory", memory_id) for memory_id in ids)
        return LifecycleAction(sequence, code, "undo", tenant, actor, "memory", codes, at, ids[:1])
    kind: ActionKind = "erase" if isinstance(event, EraseEvent) else "restore" if event.restore else "forget"
    ids = _ids(event.memory_ids)
    selector_kind, values = _selection(event, ids)
    selectors = tuple(value_code(tenant, selector_kind, value) for value in values)
    return LifecycleAction(sequence, code, kind, tenant, actor, selector_kind, selectors, at, ids)


def replacement_of(origin: Origin) -> LifecycleAction:
    """The action by which a new version, or a deletion, of a document hides its earlier pieces."""
    tenant, sequence = origin.tenant_id, origin.event_sequence
    document = value_code(tenant, "document", origin.replaces_document)
    actor = (
        actor_of(tenant, origin.user_id, origin.acl)
        if origin.is_deletion
        else own_actor_of(tenant, origin.user_id)
    )
    event = value_code(tenant, "event", origin.event_id)
    return LifecycleAction(sequence, event, "replace", tenant, actor, "document", (document,))


def fold_action(context: FoldContext, action: LifecycleAction) -> None:
    """Add an action to the pending ones; a repeat of an executed event changes nothing."""
    state = context.state
    if state.tombstones.is_repeat(action.event, action.sequence):
        return
    _update_reached(context, state.pending.add(action))


def cancel_replacement(context: FoldContext, tenant_id: str, event_id: str, *, after: int) -> None:
    """Drop the pending replacements of a document by later publications of an event published at `after`."""
    code = value_code(tenant_id, "event", event_id)
    _update_reached(context, context.state.pending.cancel(code, after=after))


def apply_due_actions(context: FoldContext) -> None:
    """Carry out, in the order of the log, every action with all earlier events processed.

    A provisional row is withdrawn once its event is processed and its memories message lacked the row.
    """
    state = context.state
    for event in [event for event in state.provisional if event in state.applied]:
        ordinals = state.provisional.pop(event)
        for ordinal in ordinals:
            state.tombstones.record_withdrawn(state.ledger.code(ordinal), withdrawn=True)
        update_status(context, sorted(ordinals))
    for action in _due_actions(context):
        if state.tombstones.is_repeat(action.event, action.sequence):
            _update_reached(context, [action])
            continue
        state.tombstones.record_executed(action.event, action.sequence)
        _execute(context, action)


def _due_actions(context: FoldContext) -> Iterator[LifecycleAction]:
    """The actions with all earlier events processed and all earlier statements decided, one by one."""
    state = context.state
    while (sequence := state.pending.first) is not None and sequence <= state.applied.floor:
        decide_due(context, before=sequence)
        if state.undecided.has_before(sequence):
            return
        yield from state.pending.due(sequence)


def _execute(context: FoldContext, action: LifecycleAction) -> None:
    tombstones = context.state.tombstones
    if action.kind == "feedback":
        _count_feedback(context, action)
        return
    if action.kind == "undo":
        memory, *other = action.selectors
        tombstones.record_undo(memory, next(iter(other), NOTHING), action.actor, action.sequence)
        update_status(context, sorted(update_links(context, _reached(context, action))))
        return
    action = _of_whole_turns(context, action)
    reached = _reached(context, action)
    for selector in action.selectors:
        if action.kind == "erase":
            tombstones.record_erasure(selector, action.actor, action.sequence)
        elif action.kind == "replace":
            tombstones.record_replacement(selector, action.actor, action.sequence)
        else:
            record = ForgetRecord(action.sequence, action.kind == "forget", action.at)
            tombstones.record_forget(selector, action.actor, record)
    if action.kind == "restore":
        for ordinal in reached:
            record_decay(context.state.ledger, ordinal, NEVER)
    if action.kind == "erase":
        remove(context, reached, erased_at=action.sequence)
    else:
        update_status(context, reached)


def _reached(context: FoldContext, action: LifecycleAction) -> list[int]:
    """Ordinals of the memories that an action reaches."""
    ledger = context.state.ledger
    if action.selector_kind == "memory":
        named = _named(context, action)
        named += [s for s in (_extracted_from(context, ordinal) for ordinal in named) if s is not None]
        turns = [(ordinal, ledger.sources.same_turn(ordinal)) for ordinal in named]
        found = sorted({member for ordinal, others in turns for member in (ordinal, *others)})
    else:
        found = [
            ordinal
            for code in action.selectors
            for ordinal in ledger.selected(action.selector_kind, code, before=action.sequence)
        ]
    return [ordinal for ordinal in found if action.reaches(ledger.memory_facts(ordinal))]


def _named(context: FoldContext, action: LifecycleAction) -> list[int]:
    """Ordinals of the memories whose ids an action gives."""
    named = (context.find(action.tenant_id, memory_id) for memory_id in action.memory_ids)
    return [ordinal for ordinal in named if ordinal is not None]


def _extracted_from(context: FoldContext, ordinal: int) -> int | None:
    """The memory that a language model drew a statement from, while it exists."""
    source = context.state.extracted.source_of(ordinal)
    return None if source is None or not context.state.ledger.is_there(source) else source


def _of_whole_turns(context: FoldContext, action: LifecycleAction) -> LifecycleAction:
    """The action, which where it names a statement also names the verbatim memory it came from."""
    ledger, sources = context.state.ledger, set[int]()
    for ordinal in _named(context, action):
        facts, extracted = ledger.memory_facts(ordinal), _extracted_from(context, ordinal)
        if action.reaches(facts):
            sources.add(facts.source if extracted is None else ledger.code(extracted))
    sources.discard(NOTHING)
    return replace(action, selectors=tuple(sorted({*action.selectors, *sources}))) if sources else action


def _count_feedback(context: FoldContext, action: LifecycleAction) -> None:
    for memory_id in sorted({*action.memory_ids, *action.unhelpful}):
        ordinal = context.find(action.tenant_id, memory_id)
        if ordinal is not None and action.reaches(context.state.ledger.memory_facts(ordinal)):
            helpful, unhelpful = memory_id in action.memory_ids, memory_id in action.unhelpful
            # an unhelpful memory was not used: it neither stays recent nor escapes decay
            accessed_at = action.at if helpful else 0
            usage = Usage(int(helpful), int(unhelpful), int(helpful), accessed_at, action.at)
            context.add_usage(ordinal, usage)
            if helpful:
                show_decayed(context, ordinal)


def show_decayed(context: FoldContext, ordinal: int) -> None:
    """Show a memory again that decay hides."""
    ledger = context.state.ledger
    if decayed_at(ledger, ordinal) != NEVER:
        record_decay(ledger, ordinal, NEVER)
        context.changes.reindex(ordinal)
        update_status(context, [ordinal])


def _update_reached(context: FoldContext, actions: Iterable[LifecycleAction]) -> None:
    for action in actions:
        if action.kind not in ("feedback", "undo"):
            update_status(context, _reached(context, action))


def _selection(event: ForgetEvent | EraseEvent, ids: tuple[str, ...]) -> tuple[SelectorKind, tuple[str, ...]]:
    """What an event selects memories by, and the selected values."""
    named: dict[SelectorKind, str] = {
        "session": event.of_session,
        "document": event.of_document,
        "user": event.of_user,
    }
    return next(((kind, (value,)) for kind, value in named.items() if value), ("memory", ids))


def _ids(named: Iterable[str]) -> tuple[str, ...]:
    """Ids sorted, without repeats."""
    return tuple(sorted(set(named)))
