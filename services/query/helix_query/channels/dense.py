"""The dense channel: the nearest memories in sight by cosine, on the cheapest of three ways.

Few memories are compared one by one, exactly. Of a caller who sees a good part of the corpus the vector
index is asked without a filter and what is out of sight is left out afterwards: judging a few hundred
candidates from mapped columns costs a tenth of what a filter costs the engine. In between, and where too
little is left, the engine filters. The score is the exact cosine on every way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from helix_query.columns import NONE
from helix_query.view import first_seen, seen_hits
from helix_shared.artifacts.ranking import Hits
from helix_shared.artifacts.signals import code
from helix_shared.artifacts.vectors import MAX_LIMIT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helix_query.view import View
    from helix_shared.artifacts.vectors import VectorReader

LISTED: Final = 65_536
"""Memories of a tenant up to which all of them are looked at in the columns, half a millisecond."""
COMPARED: Final = 8_192
"""Memories in sight up to which each is compared: a gather of as many vectors costs what the index does."""
SAMPLED: Final = 256
"""Memories of a large tenant that tell how much of it is in sight."""
BROAD: Final = 0.1
"""Part of the corpus in sight from which the index is asked without a filter."""
SPARE: Final = 1.5
"""More candidates than the part in sight calls for, since it is not spread evenly."""


def dense(
    vector: NDArray[np.float32],
    view: View,
    *,
    vectors: VectorReader,
    limit: int,
    already: NDArray[np.int64] = NONE,
) -> Hits:
    """Up to `limit` memories in sight, best first; the score is the exact cosine.

    Those of `already` come on top of the limit.
    """
    members, tenant = view.signals.members, code(view.selection.tenant_id)
    if members.count(tenant) <= LISTED:
        ordinals = members.of(tenant)
        ordinals = ordinals[view.sees(ordinals)]
        if len(ordinals) <= COMPARED:
            return _compared(vector, ordinals, view, limit=limit, already=already)
        part = len(ordinals) / len(view.signals)
    else:
        seen = view.sees(members.sample(tenant, SAMPLED))
        part = float(seen.mean()) * members.count(tenant) / len(view.signals)
    if part >= BROAD:
        wanted = limit + min(len(already), limit)
        hits = vectors.search(vector, None, limit=min(int(wanted * SPARE / part), MAX_LIMIT))
        seen = view.sees(hits.ordinals)
        if np.count_nonzero(seen) >= wanted:
            return first_seen(hits, seen, limit=limit, already=already)
    return seen_hits(
        lambda count: vectors.search(vector, view.selection, limit=count),
        view.alive,
        limit=limit,
        already=already,
    )


def _compared(
    vector: NDArray[np.float32],
    ordinals: NDArray[np.int64],
    view: View,
    *,
    limit: int,
    already: NDArray[np.int64],
) -> Hits:
    hits = Hits.ranked(ordinals, view.signals.cosines(vector, ordinals), limit=limit + len(already))
    return first_seen(hits, np.ones(len(hits), bool), limit=limit, already=already)
