"""Stage 7: which candidates say what another one says, as consolidation decided when they arrived.

"Reminder: the gate code is 4471" has other words than "The gate code is 4471", so MinHash tells them apart.
Each memory is kept and found by its own words; one answer has the better one of the two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from helix_query.profile.intent import Intent
from helix_query.profile.past import Past

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from helix_query.recall.candidates import Route
    from helix_query.recall.context import RecallContext

NO_RESTATEMENTS: Final[Mapping[int, frozenset[int]]] = {}


def restatements_among(
    context: RecallContext, ordinals: NDArray[np.int64], route: Route
) -> Mapping[int, frozenset[int]]:
    """By row of `ordinals`, the rows that say the same; a row without one is missing.

    None where it matters how often something was said: questions about earlier times or for all of a kind.
    None at past moments: what was decided later does not count then.
    """
    repeats_matter = route.past is not Past.NO or Intent.AGGREGATION in route.intents
    if not context.profile.diversify.one_per_statement or repeats_matter or context.query.selection.past:
        return NO_RESTATEMENTS
    newer, older = context.generation.relations.restatements
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
