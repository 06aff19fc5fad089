"""The dense channel: the nearest living memories by cosine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from helix_query.columns import NONE, judged, living_hits

if TYPE_CHECKING:
    from datetime import datetime

    import numpy as np
    from numpy.typing import NDArray

    from helix_shared.artifacts.ranking import Hits
    from helix_shared.artifacts.selection import Selection
    from helix_shared.artifacts.signals import Signals
    from helix_shared.artifacts.vectors import VectorReader


def dense(
    vector: NDArray[np.float32],
    selection: Selection,
    *,
    vectors: VectorReader,
    signals: Signals,
    limit: int,
    now: datetime,
    already: NDArray[np.int64] = NONE,
) -> Hits:
    """Up to `limit` memories of the selection, best first; the score is the exact cosine.

    Those of `already` come on top of the limit.
    """
    moment, past = judged(selection, vectors, now)
    return living_hits(
        lambda count: vectors.search(vector, selection, limit=count),
        signals,
        limit=limit,
        now=moment,
        past=past,
        already=already,
    )
