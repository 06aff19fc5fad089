"""Counting accesses: a message of HELIX_ACCESS changes counts and times of the memories that it names.

Accesses are no part of what a rebuild repeats. One message counts once: a sequence that is not above
`ConsolidationState.accessed` was counted before. Unknown memories, and those of other tenants, are skipped.
An access of an extracted statement is one of its turn too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from helix_consolidation.folding.feedback import show_decayed
from helix_consolidation.ledger.lifecycle.tombstones import Usage
from helix_memory.subjects import tenant_of
from helix_shared.accesses import decode_accesses
from helix_shared.errors import PermanentError
from helix_shared.moments import microseconds
from helix_shared.telemetry.logs import logger

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nats.aio.msg import Msg

    from helix_consolidation.folding.context import FoldContext
    from helix_shared.accesses import AccessedMemory

_log = logger(__name__)


def fold_access_messages(context: FoldContext, messages: Sequence[Msg]) -> None:
    """Count messages of HELIX_ACCESS; a malformed one counts nothing."""
    for message in messages:
        position = message.metadata
        try:
            memories = decode_accesses(message.data)
        except PermanentError as error:
            _log.warning("accesses skipped", sequence=position.sequence.stream, reason=str(error))
            continue
        fold_accesses(
            context,
            tenant_of(message.subject),
            memories,
            sequence=position.sequence.stream,
            stored_at=microseconds(position.timestamp),
        )


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
        # an extracted statement is hidden with its turn, which it is shown in place of
        turn = state.extracted.source_of(ordinal)
        for used in (ordinal,) if turn is None else (turn, ordinal):
            context.add_usage(used, Usage(accesses=memory.accesses, last_at=last_at))
            show_decayed(context, used)
