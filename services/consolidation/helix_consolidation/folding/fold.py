"""Folding one message into the state: message + state -> `Changes`, all in memory.

Items come in the order of their events. Each is accepted whole, or raises before anything changed: a
`PermanentError` for the dead letters, a `TemporaryError` when an earlier event is not processed yet. A
message that was folded before is skipped. The state is a function of the set of messages: repeats and
reorderings end in the same state, which the property tests check. `stores.apply` writes the changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from helix_consolidation.folding.enrichment import fold_expansions, fold_links
from helix_consolidation.folding.extracted_statements import fold_statements
from helix_consolidation.folding.incoming.actions import action_of
from helix_consolidation.folding.incoming.decode import Derived, Lifecycle
from helix_consolidation.folding.lifecycle import apply_due_actions, fold_action
from helix_consolidation.folding.memories import fold_memories
from helix_consolidation.folding.relate import decide_due
from helix_consolidation.folding.relate_extracted import relate_extracted
from helix_consolidation.folding.status.version_family import update_status
from helix_consolidation.folding.verdicts import fold_verdicts

if TYPE_CHECKING:
    from helix_consolidation.folding.context import FoldContext


def fold(context: FoldContext, item: Derived | Lifecycle) -> None:
    """Carry out the due actions, then fold one message and mark it as processed.

    The actions come first: a dead letter or a skipped gap may have completed the events they waited for, and
    a correction must not find what an earlier event erased.

    Raises:
        PermanentError: it can never be applied.
        TemporaryError: an earlier event is not processed yet.
    """
    state = context.state
    apply_due_actions(context)
    if isinstance(item, Lifecycle):
        if item.sequence not in state.applied:
            fold_action(context, action_of(item))
            state.applied.mark(item.sequence)
    elif item.sequence not in state.derived or item.sequence in state.unstored_dead_letters:
        _fold_derived(context, item)
        state.derived.mark(item.sequence)
        # an earlier delivery may have been refused without its dead letter being stored
        state.unstored_dead_letters.discard(item.sequence)


def _fold_derived(context: FoldContext, item: Derived) -> None:
    origin = item.origin
    if origin.edge == "memories":
        fold_memories(context, origin, item.rows, item.sequence)
        context.state.applied.mark(origin.event_sequence)
    elif origin.edge == "expansions":
        fold_expansions(context, origin, item.rows.to_pylist(), item.sequence)
    elif origin.edge == "statements":
        fold_statements(context, origin, item.rows, item.sequence)
    elif origin.edge == "verdicts":
        fold_verdicts(context, origin, item.rows, item.sequence)
    else:
        fold_links(context, origin, item.rows.to_pylist(), item.sequence)


def finish(context: FoldContext) -> None:
    """Carry out what is due after a batch: lifecycle actions and relation decisions."""
    apply_due_actions(context)
    decide_due(context)
    relate_extracted(context)


def sweep(context: FoldContext) -> None:
    """Hide expired memories, and carry out actions that waited for a skipped gap."""
    finish(context)
    update_status(context, context.state.ledger.expiry_changed(context.now))
