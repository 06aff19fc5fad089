"""Usage of memories in the ledger, and which memories may decay.

Decay hides single turns that nobody marked and that decide nothing. Facts, procedures, decisions and code
never decay, pieces of documents neither, nor what its author pinned or gave a priority. The other conditions
(age, weakness, use) are in `usage.decay`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from helix_consolidation.ledger.event_reach import NO_TIME
from helix_consolidation.ledger.lifecycle.tombstones import MOST_ACCESSES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helix_consolidation.ledger.ledger import Ledger
    from helix_consolidation.ledger.lifecycle.tombstones import Usage

DECAY_COLUMNS: Final = ("pinned", "priority", "speech_act")
"""Columns that are read beside `type`, `corrects` and `document_id`."""
_TYPE: Final = "episodic"
_LASTING_ACTS: Final = ("decision", "correction")


def may_decay(rows: pa.Table | pa.RecordBatch) -> NDArray[np.bool_]:
    """Whether each of the rows, of a message or of the vector table, may decay."""
    found: Any = pc.equal(rows["type"], _TYPE)
    lasting = pc.is_in(rows["speech_act"], value_set=pa.array(_LASTING_ACTS))
    for condition in (
        pc.invert(rows["pinned"]),
        pc.less_equal(rows["priority"], 1.0),
        pc.invert(lasting),
        pc.equal(rows["corrects"], ""),
        pc.equal(rows["document_id"], ""),
    ):
        found = pc.and_(found, condition)
    return np.asarray(
        found.to_numpy(zero_copy_only=False) if isinstance(found, pa.Array) else found.to_numpy()
    )


def record_usage(ledger: Ledger, ordinal: int, usage: Usage) -> None:
    """Add accesses and feedback of a memory."""
    fact = ledger.facts[ordinal : ordinal + 1]
    fact["accesses"] = np.minimum(fact["accesses"] + np.int64(usage.accesses), MOST_ACCESSES)
    fact["helpful"] += usage.helpful
    fact["unhelpful"] += usage.unhelpful
    fact["accessed_at"] = np.maximum(fact["accessed_at"], usage.last_at or NO_TIME)


def record_decay(ledger: Ledger, ordinal: int, decayed_at: int) -> None:
    """Record since when decay hides a memory, in microseconds; `NO_TIME`: it does not."""
    ledger.facts["decayed_at"][ordinal] = decayed_at


def decayed_at(ledger: Ledger, ordinal: int) -> int:
    """Since when decay hides a memory; `NO_TIME`: it does not."""
    return int(ledger.facts["decayed_at"][ordinal])


def decayed_count(ledger: Ledger) -> int:
    """Number of memories that nothing but decay hides."""
    facts = ledger.facts
    is_shown = facts["is_latest"] & (facts["deleted_at"] == NO_TIME) & facts["is_there"]
    return int(np.count_nonzero(is_shown & (facts["decayed_at"] != NO_TIME)))
