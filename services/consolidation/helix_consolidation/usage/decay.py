"""Decay: hides episodic memories that are weak, old and unused; off by default (ops/decisions/0040).

A memory decays once its tenant's log is `after_seconds` ahead of it: the time is counted from its creation or
last access to the newest event of the tenant, by the server's time of publishing. So no clock is asked, a
rebuild decides alike, and a tenant that is silent loses nothing. Nothing is removed: an access by id, helpful
feedback, a restore event, or another rule shows it again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from helix_consolidation.folding.status.version_family import update_status
from helix_consolidation.folding.status.version_members import facts_of
from helix_consolidation.ledger.event_reach import NO_TIME
from helix_consolidation.ledger.usage_facts import record_decay
from helix_shared.artifacts.signals.salience import salience_moves

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helix_consolidation.folding.context import FoldContext
    from helix_consolidation.ledger.consolidation_state import ConsolidationState
    from helix_consolidation.settings import ConsolidationSettings

MOST_CHANGES: Final = 5_000
"""Memories that one sweep hides or shows: their rows are written again."""
DAY_SECONDS: Final = 86_400.0
_MICROSECONDS: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class DecayRule:
    """When a memory decays; `after_seconds` 0: never."""

    after_seconds: float = 0.0
    most_salience: float = 0.0
    """A more salient memory does not decay."""
    most_accesses: int = 0
    """A memory that was served more often does not decay."""


NO_DECAY: Final = DecayRule()


def decay_rule(settings: ConsolidationSettings) -> DecayRule:
    """The rule that the operator set."""
    return DecayRule(
        settings.decay_after_days * DAY_SECONDS, settings.decay_most_salience, settings.decay_most_accesses
    )


def sweep_decay(context: FoldContext, rule: DecayRule) -> None:
    """Hide and show memories by the rule; what is left over comes with the next sweep."""
    ledger = context.state.ledger
    wanted = decay_times(context.state, rule)
    changed = np.flatnonzero(wanted != ledger.facts["decayed_at"])[:MOST_CHANGES].tolist()
    for ordinal in changed:
        record_decay(ledger, ordinal, int(wanted[ordinal]))
        context.changes.reindex(ordinal)
    update_status(context, changed)


def decay_times(state: ConsolidationState, rule: DecayRule) -> NDArray[np.int64]:
    """Since when each memory is decayed, in microseconds by ordinal; `NO_TIME`: it is not."""
    facts = state.ledger.facts
    wanted = np.full(len(facts), NO_TIME, np.int64)
    if rule.after_seconds <= 0 or not len(facts):
        return wanted
    after = int(rule.after_seconds * _MICROSECONDS)
    moves = salience_moves(facts["accesses"], facts["helpful"], facts["unhelpful"])
    is_weak = facts["may_decay"] & facts["is_there"] & (facts["accesses"] <= rule.most_accesses)
    is_weak &= facts["salience"] + moves <= rule.most_salience
    # what is hidden for another reason needs no decay
    is_weak &= ~facts["is_hidden"] | (facts["decayed_at"] != NO_TIME)
    latest = _latest(state)[facts["tenant"]]
    touched = np.maximum(facts["created_at"], facts["accessed_at"])
    weak = np.flatnonzero(is_weak & (touched + after <= latest))
    wanted[weak] = touched[weak] + after
    for ordinal in weak.tolist() if state.tombstones.forgotten else ():
        decayed_at = _restored_at(state, ordinal) + after
        if decayed_at > wanted[ordinal]:
            wanted[ordinal] = decayed_at if decayed_at <= latest[ordinal] else NO_TIME
    return wanted


def _latest(state: ConsolidationState) -> NDArray[np.int64]:
    """When the newest memory of each tenant was published, by number of the tenant."""
    facts = state.ledger.facts
    tenants, is_there = np.ascontiguousarray(facts["tenant"]), facts["is_there"]
    latest = np.full(int(tenants.max()) + 1, NO_TIME, np.int64)
    np.maximum.at(latest, tenants, np.where(is_there, facts["created_at"], NO_TIME))
    return latest


def _restored_at(state: ConsolidationState, ordinal: int) -> int:
    """When a restore event last reached a memory, in microseconds; 0: none did."""
    memory = facts_of(state, ordinal)
    records = (
        record
        for selector in filter(None, memory.selectors)
        for record in state.tombstones.forget_records(memory, selector)
    )
    return max((record.at for record in records if not record.is_hidden), default=0)
