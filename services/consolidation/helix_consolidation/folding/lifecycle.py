"""Folding lifecycle events: forget, restore, erase, undo, feedback, and the replacement of a document.

An event becomes a `LifecycleAction` (`incoming.actions`), which hides what it reaches at once.
`apply_due_actions` carries it out when every earlier event is processed. Nothing is removed before that: a
correction still to come copies session and document from the memory it corrects, and without them an erasure
of that session would miss it. Ids that are unknown, of another tenant or out of reach are skipped alike, so
the outcome does not tell which memories exist. An event that reaches none of its ids, an undo that does not
reach both of its own, or the deletion of a document that reaches no piece, is noted: the writer stores a dead
letter for it.

A derived statement and its verbatim memory say the same, so an event that names one reaches both. The id of
an extracted statement tells which memory that is, whether or not the statement has arrived.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Final

from helix_consolidation.folding.erasure.carry_out import carry_out_erasure
from helix_consolidation.folding.erasure.reading_ahead import read_sessions_ahead
from helix_consolidation.folding.event_memories import turn_of
from helix_consolidation.folding.feedback import count_feedback
from helix_consolidation.folding.relate import decide_due
from helix_consolidation.folding.status.links import update_links
from helix_consolidation.folding.status.version_family import update_status
from helix_consolidation.folding.status.version_members import (
    corrections_undone,
    family_of,
    members_of,
    versions_before,
)
from helix_consolidation.ledger.event_reach import NO_TIME, NOTHING, family_code, value_code
from helix_consolidation.ledger.lifecycle.tombstones import ForgetRecord
from helix_consolidation.ledger.usage_facts import record_decay
from helix_shared.identity import MOST_STATEMENTS, statement_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from helix_consolidation.folding.context import FoldContext
    from helix_consolidation.ledger.event_reach import Actor, MemoryFacts
    from helix_consolidation.ledger.ledger import Ledger
    from helix_consolidation.ledger.lifecycle.pending_actions import LifecycleAction

_FAMILY_ACTIONS: Final = ("forget", "restore")
"""Kinds that reach a memory named by id with all its versions."""


def fold_action(context: FoldContext, action: LifecycleAction) -> None:
    """Add an action to the pending ones; a repeat of an executed event changes nothing.

    A second message of a version of a document neither. A lifecycle event of a tenant that came back to its
    shard is carried out again.
    """
    state = context.state
    if state.tombstones.is_repeat(action.event, action.sequence):
        return
    action = _with_versions_before(context, _with_families(context, action))
    if action.kind == "replace" and state.tombstones.executed.get(action.event) == action.sequence:
        return
    _update_reached(context, state.pending.add(action))


def cancel_replacement(context: FoldContext, tenant_id: str, event_id: str, *, after: int) -> None:
    """Drop the pending replacements of a document by later publications of an event published at `after`."""
    code = value_code(tenant_id, "event", event_id)
    _update_reached(context, context.state.pending.cancel(code, after=after))


def apply_due_actions(context: FoldContext) -> None:
    """Carry out, in the order of the log, every action with all earlier events processed."""
    state = context.state
    _withdraw_provisional(context)
    read_ahead(context, state.pending.until(state.applied.floor))
    for action in _due_actions(context):
        if state.tombstones.is_repeat(action.event, action.sequence):
            _update_reached(context, [action])
            continue
        state.tombstones.record_executed(action.event, action.sequence)
        _execute(context, action)


def read_ahead(context: FoldContext, actions: Iterable[LifecycleAction]) -> None:
    """Prefetch the stored rows that these actions need."""
    erasing = [action for action in actions if action.kind == "erase"]
    if erasing:
        read_sessions_ahead(context, (ordinal for one in erasing for ordinal in _reached(context, one)))


def _withdraw_provisional(context: FoldContext) -> None:
    """Withdraw the provisional rows whose event is processed: its memories message lacked them.

    They stay provisional as long as a lower publication of the event can arrive, which removes them.
    """
    state = context.state
    for event in [event for event in state.provisional if event in state.applied]:
        codes = {ordinal: state.ledger.code(ordinal) for ordinal in sorted(state.provisional[event])}
        lacking = [ordinal for ordinal, code in codes.items() if code not in state.tombstones.withdrawn]
        for ordinal in lacking:
            state.tombstones.record_withdrawn(codes[ordinal], withdrawn=True)
        update_status(context, lacking)
        if event <= state.applied.floor:
            del state.provisional[event]


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
        count_feedback(context, action)
        return
    if action.kind == "undo":
        _undo(context, action)
        return
    action = _with_families(context, _with_turns(context, _with_versions_before(context, action)))
    reached = _reached(context, action)
    _note_unreached(context, action, reached)
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
            record_decay(context.state.ledger, ordinal, NO_TIME)
    if action.kind == "erase":
        carry_out_erasure(context, action, reached)
    else:
        update_status(context, reached)


def _undo(context: FoldContext, action: LifecycleAction) -> None:
    """Take back relations, and corrections: those are forgotten until a restore of their ids."""
    state = context.state
    memories, *others = (_codes_of_named(context, action.tenant_id, name) for name in action.memory_ids)
    for memory, other in product(memories, *others or [[NOTHING]]):
        state.tombstones.record_undo(memory, other, action.actor, action.sequence)
    reached = [_reached(context, replace(action, memory_ids=(name,))) for name in action.memory_ids]
    _note_unreached(context, action, min(reached, key=len))
    named = [set(ordinals) for ordinals in reached]
    taken = set[int]()
    for ordinal in corrections_undone(state, named[0], named[1] if others else None):
        facts = state.ledger.memory_facts(ordinal)
        if action.reaches(facts):
            taken.add(ordinal)
            record = ForgetRecord(action.sequence, is_hidden=True, at=action.at)
            state.tombstones.record_forget(facts.memory, action.actor, record)
    undone = set[int]().union(*named)
    undone |= state.extracted.of_sources(undone)
    update_status(context, sorted(taken | update_links(context, undone)))


def _note_unreached(context: FoldContext, action: LifecycleAction, reached: list[int]) -> None:
    if action.memory_ids and not reached:
        context.unreached.append(action.sequence)


def _reached(context: FoldContext, action: LifecycleAction) -> list[int]:
    """Ordinals of the memories that an action reaches."""
    ledger = context.state.ledger
    if action.selector_kind == "memory":
        named = _named(context, action)
        if action.kind in _FAMILY_ACTIONS:
            named = [one for ordinal in named for one in members_of(context.state, _turn(ledger, ordinal))]
        elif action.kind == "erase":
            named += _versions_before(context, named)
        turns = [(ordinal, ledger.sources.same_turn(ordinal)) for ordinal in named]
        found = sorted({member for ordinal, others in turns for member in (ordinal, *others)})
    else:
        found = [
            ordinal
            for code in action.selectors
            for ordinal in ledger.selected(action.selector_kind, code, before=action.sequence)
        ]
    return [ordinal for ordinal in found if action.reaches(ledger.memory_facts(ordinal))]


def _versions_before(context: FoldContext, named: Iterable[int]) -> list[int]:
    """Ordinals of the versions that these memories replaced."""
    state = context.state
    return [one for ordinal in named for one in versions_before(state, _turn(state.ledger, ordinal))]


def _turn(ledger: Ledger, ordinal: int) -> int:
    """The verbatim memory of a statement that stands beside one; else the memory itself."""
    source = ledger.sources.of(ordinal)
    return ordinal if source is None else source


def _named(context: FoldContext, action: LifecycleAction) -> list[int]:
    """Ordinals of the memories whose ids an action gives, and of those that a named statement came from."""
    named = (context.find(action.tenant_id, memory_id) for memory_id in action.memory_ids)
    return [*(ordinal for ordinal in named if ordinal is not None), *_verbatim_memories(context, action)]


def _verbatim_memories(context: FoldContext, action: LifecycleAction) -> list[int]:
    """Ordinals of the memories of which the named extracted statements were made."""
    turns = (turn_of(context, action.tenant_id, memory_id) for memory_id in action.memory_ids)
    return [turn for turn in turns if turn is not None]


def _codes_of_named(context: FoldContext, tenant_id: str, memory_id: str) -> list[int]:
    """Codes of a named memory, and of its verbatim memory if it is a statement."""
    ledger, ordinal = context.state.ledger, context.find(tenant_id, memory_id)
    source = None if ordinal is None else ledger.sources.of(ordinal)
    turn = turn_of(context, tenant_id, memory_id) if source is None else source
    own = value_code(tenant_id, "memory", memory_id)
    return [own] if turn is None else [own, ledger.code(turn)]


def _with_turns(context: FoldContext, action: LifecycleAction) -> LifecycleAction:
    """The action, which where it names a statement also names the verbatim memory it came from."""
    if action.selector_kind != "memory" or action.kind in _FAMILY_ACTIONS:
        return action
    sources = set[int]()
    turns = set(_verbatim_memories(context, action))
    for ordinal in _named(context, action):
        facts = context.state.ledger.memory_facts(ordinal)
        if action.reaches(facts):
            sources |= {facts.source, facts.memory if ordinal in turns else NOTHING}
    sources.discard(NOTHING)
    return replace(action, selectors=tuple(sorted({*action.selectors, *sources}))) if sources else action


def _with_versions_before(context: FoldContext, action: LifecycleAction) -> LifecycleAction:
    """The action, which where it erases memories by id also selects what each had replaced.

    Otherwise an outdated version would hold again. A later version stays: it may leave out what is erased.
    """
    if action.selector_kind != "memory" or action.kind != "erase":
        return action
    ledger = context.state.ledger
    facts = map(ledger.memory_facts, _versions_before(context, _named(context, action)))
    codes = {value_code(action.tenant_id, "memory", memory_id) for memory_id in action.memory_ids}
    codes |= {one.memory for one in facts if action.reaches(one)}
    return replace(action, selectors=tuple(sorted(codes)))


def _with_families(context: FoldContext, action: LifecycleAction) -> LifecycleAction:
    """The action, which where it forgets or restores memories by id selects each with all its versions.

    A restore also selects the named memories themselves: an undo hides a correction by its own code.
    """
    if action.selector_kind != "memory" or action.kind not in _FAMILY_ACTIONS:
        return action
    state = context.state
    codes = {value_code(action.tenant_id, "memory", memory_id) for memory_id in action.memory_ids}
    named = map(state.ledger.memory_facts, _named(context, action))
    turns = {facts.source or facts.memory for facts in named if action.reaches(facts)}
    families = {family_of(state, code) for code in codes | turns}
    if action.kind == "restore":
        versions = {family_code(state.ledger.code(ordinal)) for ordinal in _reached(context, action)}
        families |= codes | turns | (versions & state.tombstones.forgotten.keys())
    return replace(action, selectors=tuple(sorted(families)))


def reach_late(context: FoldContext, tenant_id: str, memory_id: str, facts: MemoryFacts) -> None:
    """Let events that named an extracted statement reach its verbatim memory, which arrives after them."""
    tombstones = context.state.tombstones
    for number in range(MOST_STATEMENTS) if tombstones.forgotten or tombstones.erased else ():
        statement = value_code(tenant_id, "memory", statement_id(memory_id, number))
        for code, record in list(tombstones.forgotten.get(family_code(statement), {}).items()):
            before = tombstones.forgotten.get(family_code(facts.memory), {}).get(code)
            if (before is None or before.sequence < record.sequence) and _reaches(
                tombstones.actors[code], record.sequence, facts
            ):
                tombstones.record_forget(family_code(facts.memory), tombstones.actors[code], record)
        for code, sequence in list(tombstones.erased.get(statement, {}).items()):
            last = tombstones.erased.get(facts.memory, {}).get(code, 0)
            if last < sequence and _reaches(tombstones.actors[code], sequence, facts):
                tombstones.record_erasure(facts.memory, tombstones.actors[code], sequence)


def _reaches(actor: Actor, sequence: int, facts: MemoryFacts) -> bool:
    return sequence > facts.stream_sequence and actor.reaches(facts.visibility, facts.user)


def _update_reached(context: FoldContext, actions: Iterable[LifecycleAction]) -> None:
    for action in actions:
        if action.kind not in ("feedback", "undo"):
            update_status(context, _reached(context, action))
