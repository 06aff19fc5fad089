"""Stage 7: which candidates say what another one says, as consolidation decided when they arrived.

"Reminder: the gate code is 4471" has other words than "The gate code is 4471", so MinHash tells them apart.
Each memory is kept and found by its own words; one answer has the better one of the two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from helix_shared.artifacts.relations.relation_files import RelationReader

NO_RESTATEMENTS: Final[Mapping[int, frozenset[int]]] = {}


def restatements_among(
    relations: RelationReader, ordinals: NDArray[np.int64]
) -> Mapping[int, frozenset[int]]:
    """For each row of `ordinals`, the rows that say the same; rows without one are left out."""
    newer, older = relations.restatements
    rows = {ordinal: row for row, ordinal in enumerate(ordinals.tolist())}
    starts = np.searchsorted(newer, ordinals, side="left").tolist()
    ends = np.searchsorted(newer, ordinals, side="right").tolist()
    found: dict[int, set[int]] = {}
    for row, (start, end) in enumerate(zip(starts, ends, strict=True)):
        for ordinal in older[start:end].tolist():
            if (other := rows.get(ordinal)) is not None:
                found.setdefault(row, set()).add(other)
                found.setdefault(other, set()).add(row)
    return {row: frozenset(others) for row, others in found.items()}
