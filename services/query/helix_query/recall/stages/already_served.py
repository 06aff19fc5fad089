"""Stage 7b: what the caller has already is left out, so that an answer adds to the one before.

It stays until here on purpose: what merely repeats it was found out as a near-duplicate of it, and
what is like it counted as less novel. `binding` fetches the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from helix_query.recall.candidates import Ranked

if TYPE_CHECKING:
    from numpy.typing import NDArray


def delta(ranked: Ranked, has: NDArray[np.bool_], *, count: int) -> tuple[Ranked, int]:
    """The first `count` that the caller has not, and how many of those it has stand among them.

    `has` runs parallel to `ranked`. Where there are fewer than `count`, all it has stand among them.
    """
    fresh = np.flatnonzero(~has)[:count]
    reached = int(fresh[-1]) if len(fresh) == count else len(ranked)
    return Ranked(ranked.positions[fresh], ranked.scores[fresh]), int(has[:reached].sum())
