"""The dense channel: the nearest memories in sight by cosine, on the cheapest of three ways.

A tenant is scanned: few memories in sight are compared one by one, more are first chosen by their sketches,
so that neither a partition nor a filter hides any. Of one that is too large the vector index is asked. For a
caller who sees a good part of the corpus it has no filter, and what is out of sight is left out afterwards,
from mapped columns; else, and where too little is left, the engine filters. The score is the cosine with
the stored vector on every way (ops/decisions/0015, 0020).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

import numpy as np

from helix_query.recall.columns import NONE
from helix_query.recall.visibility import first_seen, seen_hits
from helix_shared.artifacts.hits import Hits
from helix_shared.artifacts.signals.columns import code
from helix_shared.artifacts.vectors.reader import MAX_LIMIT

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from helix_query.recall.visibility import Visibility
    from helix_shared.artifacts.filter.selection import Selection
    from helix_shared.artifacts.vectors.reader import VectorReader

SCANNED: Final = 1_048_576
"""Memories of a tenant up to which all sketches are looked at: that costs less than the index."""
JUDGED: Final = 131_072
"""Memories of a tenant up to which it is judged of each whether it is in sight, where few are."""
JUDGED_ALL: Final = 8_192
"""Memories of a tenant up to which each is judged; of more a sample tells how much of it is in sight."""
MOST_COMPARED: Final = 8_192
"""Memories chosen by sketch, above which comparing them costs more than asking the index."""
COMPARED: Final = 2_048
"""Memories in sight up to which each is compared; of more, so many and no fewer are chosen by sketch.

Each lies on a page of its own, and reading that takes from .1 to 3 microseconds with the machine's state.
"""
SKETCHED: Final = 20
"""Memories chosen by sketch for every one asked for: that misses one or two in a hundred of the nearest.

Of a tenant of more than `CROWDED` more, as the root of its size: among many, more come close by chance.
"""
CROWDED: Final = 524_288
"""Memories of a tenant."""
JUDGED_AFTER: Final = 0.25
"""Part of a tenant in sight from which memories are chosen first and judged then: that is cheaper."""
MANY_LISTS: Final = 64
"""Different access lists in a sample, above which the engine's filter judges: reading all takes a second."""
SAMPLED: Final = 256
"""Memories of a tenant that tell how much of it is in sight."""
BROAD: Final = 0.1
"""Part of the corpus in sight from which the index is asked without a filter."""
SPARE: Final = 2.0
"""More candidates than the part in sight calls for, since it is not spread evenly."""


@dataclass(frozen=True, slots=True)
class VisibilityEstimate:
    """How a caller stands to the memories of its tenant, by a sample of them."""

    share: float
    """What part it sees."""
    lists: int
    """How many different access lists there are, each of which is read to be judged."""

    @classmethod
    def of(cls, view: Visibility) -> Self:
        """That of a view; of a tenant without memories it is none."""
        sample = view.signals.tenant_sketches.sample(code(view.selection.tenant_id), SAMPLED)
        lists = np.unique(view.signals.audience_code[sample])
        return cls(float(view.sees(sample).mean()) if len(sample) else 0.0, len(lists))


NO_SIGHT: Final = VisibilityEstimate(0.0, 0)


def dense(
    vector: NDArray[np.float32],
    view: Visibility,
    *,
    vectors: VectorReader,
    limit: int,
    already: NDArray[np.int64] = NONE,
    estimate_visibility: Callable[[Visibility], VisibilityEstimate] = VisibilityEstimate.of,
) -> Hits:
    """Up to `limit` memories in sight, best first; the score is the exact cosine.

    Those of `already` come on top of the limit. `estimate_visibility` makes or caches it.
    """
    members, tenant = view.signals.tenant_sketches, code(view.selection.tenant_id)
    count = members.count(tenant)
    sight = estimate_visibility(view) if count > JUDGED_ALL else NO_SIGHT
    if count <= SCANNED and sight.lists <= MANY_LISTS:
        scan = _Scan(vector, view, tenant, count, limit, already)
        hits = scan.judged_after(sight.share) if scan.pays(sight.share) else None
        if hits is None and count <= JUDGED:
            hits = scan.judged_before()
        if hits is not None:
            return hits
    part = sight.share * count / len(view.signals)
    return _indexed(vector, view, vectors, part, limit=limit, already=already)


@dataclass(frozen=True, slots=True)
class _Scan:
    """A tenant's memories, looked at all."""

    vector: NDArray[np.float32]
    view: Visibility
    tenant: int
    count: int
    limit: int
    already: NDArray[np.int64]

    def pays(self, share: float) -> bool:
        """Whether to choose first and judge then, where about the part `share` is in sight."""
        return share >= JUDGED_AFTER and self._chosen <= MOST_COMPARED * share

    def judged_after(self, share: float) -> Hits | None:
        """The nearest, where about the part `share` is in sight; None if fewer than asked for are left."""
        hits = self._nearest(int(self._chosen / share), int(self._wanted * SPARE / share), self.already)
        return _judged(hits, self.view, self.limit, self.already)

    def judged_before(self) -> Hits:
        """The nearest of those in sight."""
        seen = self.view.sees(self.view.signals.tenant_sketches.of(self.tenant))
        known = self.already[self.view.sees(self.already)]
        hits = self._nearest(self._chosen, self._wanted, known, seen)
        return first_seen(hits, np.ones(len(hits), bool), limit=self.limit, already=self.already)

    @property
    def _wanted(self) -> int:
        return self.limit + len(self.already)

    @property
    def _chosen(self) -> int:
        return max(COMPARED, int(self.limit * SKETCHED * max(1.0, math.sqrt(self.count / CROWDED))))

    def _nearest(
        self,
        chosen: int,
        limit: int,
        known: NDArray[np.int64],
        among: NDArray[np.bool_] | None = None,
    ) -> Hits:
        """The nearest, of which `chosen` are compared beside the `known`."""
        signals = self.view.signals
        near = signals.nearest_sketches(self.vector, self.tenant, chosen + len(known), among)
        near = np.union1d(near, known) if len(known) else near
        return Hits.ranked(near, signals.cosines(self.vector, near), limit=limit)


def _indexed(
    vector: NDArray[np.float32],
    view: Visibility,
    vectors: VectorReader,
    part: float,
    *,
    limit: int,
    already: NDArray[np.int64],
) -> Hits:
    """The nearest by the index, where about the part `part` of the corpus is in sight."""
    if part >= BROAD:
        spared = min(int((limit + len(already)) * SPARE / part), MAX_LIMIT)
        hits = _nearest(vector, None, view, vectors, limit=spared)
        if (judged := _judged(hits, view, limit, already)) is not None:
            return judged
    nprobes = None if vectors.index is None else vectors.index.nprobes_within(part)
    return seen_hits(
        lambda count: _nearest(vector, view.selection, view, vectors, limit=count, nprobes=nprobes),
        view.alive,
        limit=limit,
        already=already,
    )


def _judged(hits: Hits, view: Visibility, limit: int, already: NDArray[np.int64]) -> Hits | None:
    """The hits in sight, None where they are too few for the limit."""
    seen = view.sees(hits.ordinals)
    enough = np.count_nonzero(seen) >= limit + len(already)
    return first_seen(hits, seen, limit=limit, already=already) if enough else None


def _nearest(
    vector: NDArray[np.float32],
    selection: Selection | None,
    view: Visibility,
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
