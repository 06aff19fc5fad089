"""Counting accesses: a message of HELIX_ACCESS changes counts and times of the memories that it names.

Accesses are no part of what a rebuild repeats. One message counts once: a sequence that is not above
`ConsolidationState.accessed` was counted before. Unknown memories, and those of other tenants, are skipped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from helix_consolidation.folding.lifecycle import show_decayed
from helix_consolidation.ledger.lifecycle.tombstones import Usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from helix_consolidation.folding.context import FoldContext
    from helix_shared.accesses import AccessedMemory


def fold_accesses(
    context: FoldContext, tenant_id: str, memories: Sequence[AccessedMemory], *, sequence: int, stored_at: int
) -> None:
    """Count one message, stored at `stored_at` (microseconds); a decayed memory that was read shows again."""
    state = context.state
    if sequence <= state.accessed:
        return
    state.accessed = sequence
    for memory in memories:
        ordinal = context.find(tenant_id, memory.memory_id)
        if ordinal is None:
            continue
        # the clock of the query service may be ahead of the server's
        last_at = min(memory.last_at, stored_at)
        context.add_usage(ordinal, Usage(accesses=memory.accesses, last_at=last_at))
        show_decayed(context, ordinal)
