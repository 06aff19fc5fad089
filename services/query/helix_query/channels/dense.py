"""The dense channel: the nearest memories in sight by cosine, on the cheapest of three ways.

Few memories are compared one by one, which also finds what partitions near the query do not hold. Of a
caller who sees a good part of the corpus the vector index is asked without a filter and what is out of
sight is left out afterwards, from mapped columns. In between, and where too little is left, the engine
filters. The score is the cosine with the stored vector on every way (ops/decisions/0015).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from helix_query.columns import NONE
from helix_query.view import first_seen, seen_hits
from helix_shared.artifacts.ranking import Hits
from helix_shared.artifacts.signals import code
from helix_shared.artifacts.vector_reader import MAX_LIMIT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helix_query.view import View
    from helix_shared.artifacts.selection import Selection
    from helix_shared.artifacts.vector_reader import VectorReader

LISTED: Final = 65_536
"""Memories of a tenant up to which all may be looked at in the columns: a few milliseconds."""
COMPARED: Final = 16_384
"""Memories in sight up to which each is compared: that costs what the index costs, or less."""
SAMPLED: Final = 256
"""Memories of a tenant that tell how much of it is in sight."""
BROAD: Final = 0.1
"""Part of the corpus in sight from which the index is asked without a filter."""
SPARE: Final = 2.0
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
    count = members.count(tenant)
    in_sight = count
    if count > COMPARED:
        in_sight = int(count * view.sees(members.sample(tenant, SAMPLED)).mean())
    if in_sight <= COMPARED and count <= LISTED:
        ordinals = members.of(tenant)
        return _compared(vector, ordinals[view.sees(ordinals)], view, limit=limit, already=already)
    part = in_sight / len(view.signals)
    wanted = limit + min(len(already), limit)
    if part >= BROAD:
        hits = _nearest(vector, None, view, vectors, limit=min(int(wanted * SPARE / part), MAX_LIMIT))
        seen = view.sees(hits.ordinals)
        if np.count_nonzero(seen) >= wanted:
            return first_seen(hits, seen, limit=limit, already=already)
    nprobes = None if vectors.index is None else vectors.index.nprobes_within(part)
    return seen_hits(
        lambda count: _nearest(vector, view.selection, view, vectors, limit=count, nprobes=nprobes),
        view.alive,
        limit=limit,
        already=already,
    )


def _nearest(
    vector: NDArray[np.float32],
    selection: Selection | None,
    view: View,
    vectors: VectorReader,
    *,
    limit: int,
    nprobes: int | None = None,
) -> Hits:
    """The nearest of the index, and of the few rows it does not hold yet: those are compared one by one."""
    tail = vectors.tail
    hits = vectors.search(vector, selection, limit=limit, nprobes=nprobes, indexed_only=tail is not None)
    if tail is None or not len(tail):
        return hits
    fresh = np.setdiff1d(tail[view.sees(tail)], hits.ordinals)
    scores = np.concatenate([hits.scores, view.signals.cosines(vector, fresh)])
    return Hits.ranked(np.concatenate([hits.ordinals, fresh]), scores, limit=limit)


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
