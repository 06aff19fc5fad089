"""Prefetches the stored rows that several erasures need, since each read takes 10 ms, however small."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from helix_consolidation.ledger.event_reach import NOTHING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from helix_consolidation.folding.context import FoldContext

MOST_ROWS: Final = 20_000
"""Rows that are kept for a batch; erasures that reach more read for themselves."""


def read_sessions_ahead(context: FoldContext, reached: Iterable[int]) -> None:
    """Read the rows that erasures reach, and those of their sessions, which may quote them."""
    ledger, wanted = context.state.ledger, set(reached)
    sessions = {ledger.memory_facts(ordinal).session for ordinal in wanted} - {NOTHING}
    if len(wanted) <= MOST_ROWS:
        wanted.update(ledger.of_sessions(sessions))
    if len(wanted) <= MOST_ROWS:
        context.read_ahead(wanted)
