"""What follows from a batch of messages, in memory: messages and what is known -> `Changes`.

Items come in the order of their events. Each is accepted whole, or raises before it changed
anything: a `PermanentError` for the dead letters, a `TemporaryError` when it speaks of a memory
that is still on its way. Every rule is written so that repeats and reorderings end in the same
state; the property test feeds both. `apply` writes the changes to the stores.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from helix_consolidation.collect import Derived, Lifecycle
from helix_consolidation.enrichment import fold_expansions, fold_links
from helix_consolidation.lifecycle import fold_lifecycle
from helix_consolidation.memories import fold_memories

if TYPE_CHECKING:
    from helix_consolidation.folding import Folding


def fold(folding: Folding, item: Derived | Lifecycle) -> None:
    """Fold one message and count its event as answered.

    Raises:
        PermanentError: it can never be applied.
        TemporaryError: it must come after a memory that is not here yet.
    """
    known = folding.known
    if isinstance(item, Lifecycle):
        # a redelivered event would be counted twice: feedback adds up
        if item.sequence not in known.applied:
            fold_lifecycle(folding, item.event, item.sequence, item.at)
            known.applied.answer(item.sequence)
        return
    origin = item.origin
    if origin.edge == "memories":
        fold_memories(folding, origin, item.rows)
        known.applied.answer(origin.event_sequence)
    elif origin.edge == "expansions":
        fold_expansions(folding, origin, item.rows.to_pylist())
    else:
        fold_links(folding, origin, item.rows.to_pylist())
    known.derived.answer(item.sequence)


def sweep(folding: Folding) -> None:
    """Hide what expired by now."""
    folding.restand(folding.known.ledger.expired(folding.now))
