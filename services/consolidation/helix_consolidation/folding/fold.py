"""What follows from a batch of messages, in memory: messages and what is known -> `Changes`.

Items come in the order of their events. Each is accepted whole, or raises before it changed
anything: a `PermanentError` for the dead letters, a `TemporaryError` when an event before it is not
answered yet. A message that was folded before is passed over. The state is a function of the set of
messages: repeats and reorderings end in the same one, and the property test feeds both. `apply` writes
the changes to the stores.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from helix_consolidation.folding.decode import Derived, Lifecycle
from helix_consolidation.folding.enrichment import fold_expansions, fold_links
from helix_consolidation.folding.lifecycle import action_of, apply_due_actions, fold_action
from helix_consolidation.folding.memories import fold_memories

if TYPE_CHECKING:
    from helix_consolidation.folding.context import FoldContext


def fold(context: FoldContext, item: Derived | Lifecycle) -> None:
    """Carry out the acts whose turn has come, then fold one message and count its event as answered.

    The acts come first: a dead letter or a gap in the stream may have answered the event they waited for, and
    a correction must not find what an earlier event of the log erased.

    Raises:
        PermanentError: it can never be applied.
        TemporaryError: an event before it is not answered yet.
    """
    state = context.state
    apply_due_actions(context)
    if isinstance(item, Lifecycle):
        if item.sequence not in state.applied:
            fold_action(context, action_of(item.event, item.sequence, item.at))
            state.applied.mark(item.sequence)
    elif item.sequence not in state.derived or item.sequence in state.unstored_dead_letters:
        _fold_derived(context, item)
        state.derived.mark(item.sequence)
        # it may have been refused before, and its dead letter not been stored
        state.unstored_dead_letters.discard(item.sequence)


def _fold_derived(context: FoldContext, item: Derived) -> None:
    origin = item.origin
    if origin.edge == "memories":
        fold_memories(context, origin, item.rows, item.sequence)
        context.state.applied.mark(origin.event_sequence)
    elif origin.edge == "expansions":
        fold_expansions(context, origin, item.rows.to_pylist(), item.sequence)
    else:
        fold_links(context, origin, item.rows.to_pylist(), item.sequence)


def sweep(context: FoldContext) -> None:
    """Hide what expired by now, and carry out what waited for a gap in the stream."""
    apply_due_actions(context)
    context.update_status(context.state.ledger.expired(context.now))
