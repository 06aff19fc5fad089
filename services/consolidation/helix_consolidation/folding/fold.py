"""What follows from a batch of messages, in memory: messages and what is known -> `Changes`.

Items come in the order of their events. Each is accepted whole, or raises before it changed
anything: a `PermanentError` for the dead letters, a `TemporaryError` when an event before it is not
answered yet. A message that was folded before is passed over. The state is a function of the set of
messages: repeats and reorderings end in the same one, and the property test feeds both. `apply` writes
the changes to the stores.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from helix_consolidation.folding.collect import Derived, Lifecycle
from helix_consolidation.folding.enrichment import fold_expansions, fold_links
from helix_consolidation.folding.lifecycle import act_of, fold_act, settle
from helix_consolidation.folding.memories import fold_memories

if TYPE_CHECKING:
    from helix_consolidation.folding.folding import Folding


def fold(folding: Folding, item: Derived | Lifecycle) -> None:
    """Carry out the acts whose turn has come, then fold one message and count its event as answered.

    The acts come first: a dead letter or a gap in the stream may have answered the event they waited for, and
    a correction must not find what an earlier event of the log erased.

    Raises:
        PermanentError: it can never be applied.
        TemporaryError: an event before it is not answered yet.
    """
    known = folding.known
    settle(folding)
    if isinstance(item, Lifecycle):
        if item.sequence not in known.applied:
            fold_act(folding, act_of(item.event, item.sequence, item.at))
            known.applied.answer(item.sequence)
    elif item.sequence not in known.derived or item.sequence in known.unfiled:
        _fold_derived(folding, item)
        known.derived.answer(item.sequence)
        # it may have been refused before, and its dead letter not been stored
        known.unfiled.discard(item.sequence)


def _fold_derived(folding: Folding, item: Derived) -> None:
    origin = item.origin
    if origin.edge == "memories":
        fold_memories(folding, origin, item.rows, item.sequence)
        folding.known.applied.answer(origin.event_sequence)
    elif origin.edge == "expansions":
        fold_expansions(folding, origin, item.rows.to_pylist(), item.sequence)
    else:
        fold_links(folding, origin, item.rows.to_pylist(), item.sequence)


def sweep(folding: Folding) -> None:
    """Hide what expired by now, and carry out what waited for a gap in the stream."""
    settle(folding)
    folding.restand(folding.known.ledger.expired(folding.now))
