"""Copies what another generation knows of erasures into stores that are rebuilt from the log.

The log has lost the events, so a replay does not learn which ids were erased, and one that is published again
would come back. Receipts and unfinished erasures are nowhere else either. A rebuild takes them from the
generation that it replaces, a move of a tenant from that of the shard that it leaves.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from helix_consolidation.ledger.lifecycle.erasures import Erasures
from helix_consolidation.ledger.lifecycle.tombstone_log import Table, TombstoneLog
from helix_consolidation.ledger.lifecycle.tombstones import Tombstones
from helix_consolidation.stores.state_files import STATE_FILE, TOMBSTONES
from helix_shared.artifacts.erasures.receipts import RECEIPTS, all_receipts, append_receipts

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from helix_consolidation.ledger.consolidation_state import ConsolidationState
    from helix_consolidation.stores.shard import Shard
    from helix_shared.artifacts.erasures.receipts import Receipt


def remember_erased(state: ConsolidationState, generation: Path) -> None:
    """Add the erased memories of the folder `generation`; call it before the replay, and again after it.

    Raises:
        CorruptArtifactError: they cannot be read.
    """
    records, before = list(TombstoneLog(generation / TOMBSTONES).records()), Tombstones()
    for record in records:
        before.restore(record)
    known = set(state.tombstones.erased_memories)
    for record in records:
        is_erased = record.key in before.erased_memories and record.key not in known
        if record.table == Table.ACTORS or (record.table == Table.ERASED_MEMORIES and is_erased):
            state.tombstones.add(record)


def erased_spans(generation: Path) -> list[tuple[int, int]]:
    """Of each erased memory of the folder `generation`: its event, and the event that erased it.

    What was decided about the events between the two may rest on the erased memory.

    Raises:
        CorruptArtifactError: they cannot be read.
    """
    found = Tombstones()
    for record in TombstoneLog(generation / TOMBSTONES).records():
        found.restore(record)
    return [(one.sequence, one.erased_at) for one in found.erased_memories.values()]


def take_over_erasures(shard: Shard, generation: Path, *, of: Callable[[int], bool] = lambda _: True) -> None:
    """Add everything about the erasures of the folder `generation`: ids, what is left to do, receipts.

    `of` says by its sequence whether an event is one to take over.

    Raises:
        CorruptArtifactError, OSError, ValueError, KeyError: they cannot be read.
    """
    remember_erased(shard.state, generation)
    receipts = [receipt for receipt in all_receipts(generation) if of(receipt.sequence)]
    before = Erasures.from_json(json.loads((generation / STATE_FILE).read_bytes())["erasures"])
    before.open = {sequence: erasure for sequence, erasure in before.open.items() if of(sequence)}
    before.republished = {sequence: one for sequence, one in before.republished.items() if of(sequence)}
    _take_over_work(shard.state.erasures, before, receipts)
    if shard.live is not None:
        append_receipts(shard.live.folder / RECEIPTS, receipts)


def _take_over_work(own: Erasures, before: Erasures, receipts: list[Receipt]) -> None:
    """Take over the unfinished work of the previous writer, without what a receipt shows as done."""
    done = {receipt.sequence for receipt in receipts if receipt.is_complete}
    for sequence, erasure in list(own.open.items()):
        if sequence in done and not (erasure.events or erasure.to_rederive):
            del own.open[sequence]
    for sequence, erasure in before.open.items():
        if sequence in done:
            continue
        found = own.open.setdefault(sequence, erasure)
        if found is not erasure:
            found.counts = {name: max(found.counts.get(name, 0), n) for name, n in erasure.counts.items()}
            found.events |= erasure.events
            found.to_rederive |= erasure.to_rederive
        found.is_changed = True
    for sequence, tenant in before.republished.items():
        own.note_republished(tenant, sequence)
    own.has_quoting_messages |= before.has_quoting_messages
