"""The visible memories nearest to a vector, in the cheapest of three ways; the score is the exact cosine.

- A tenant of which few memories are visible: the visible ones are compared.
- A tenant of up to `SCANNED` memories: the nearest are chosen by their sketches, then compared. Neither a
  partition nor a filter hides any of them.
- A larger tenant: the vector index is asked, without a filter where the caller sees a good part of the
  corpus, else with the engine's filter (ops/decisions/0015, 0020).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from helix_query.recall.visibility import NO_ORDINALS, VisibilityEstimate, first_visible, visible_hits
from helix_shared.artifacts.distinct import distinct
from helix_shared.artifacts.hits import MAX_HITS, Hits
from helix_shared.artifacts.signals.columns import code

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from helix_query.recall.visibility import Visibility
    from helix_shared.artifacts.filter.selection import Selection
    from helix_shared.artifacts.vectors.reader import VectorReader

SCANNED: Final = 1_048_576
"""Memories of a tenant up to which all sketches are read: that costs less than the index."""
MAX_JUDGED_BEFORE: Final = 131_072
"""Memories of a tenant up to which the visibility of each is judged first, where few are visible: 0020."""
JUDGED_ALL: Final = 8_192
"""Memories of a tenant up to which the visibility of each is judged; of more, a sample is: 0020."""
MOST_COMPARED: Final = 8_192
"""Memories chosen by sketch, above which comparing them costs more than asking the index."""
COMPARED: Final = 2_048
"""Visible memories up to which each is compared; of more, at least so many are chosen by sketch.

Each lies on a page of its own; reading that takes .1 to 3 microseconds, depending on the machine's cache.
"""
SKETCHED: Final = 20
"""Memories chosen by sketch for every one asked for: that misses one or two of a hundred nearest.

A tenant of more than `CROWDED` gets more, as the root of its size: more memories come close by chance.
"""
CROWDED: Final = 524_288
"""Memories of a tenant."""
JUDGED_AFTER: Final = 0.25
"""Visible share of a tenant from which memories are chosen first and judged then: that is cheaper."""
MANY_LISTS: Final = 64
"""Different access lists in a sample, above which the engine's filter judges: reading all takes a second."""
BROAD: Final = 0.1
"""Visible share of the corpus from which the index is asked without a filter."""
SPARE: Final = 2.0
"""More candidates than the visible share calls for, since visible memories are not spread evenly."""
NOT_ESTIMATED: Final = VisibilityEstimate(0.0, 0)
"""The estimate for a tenant so small that each memory is judged."""


def nearest_visible(
    vector: NDArray[np.float32],
    visibility: Visibility,
    *,
    vectors: VectorReader,
    limit: int,
    already_served: NDArray[np.int64] = NO_ORDINALS,
    estimate_visibility: Callable[[Visibility], VisibilityEstimate] = VisibilityEstimate.of,
) -> Hits:
    """Up to `limit` visible memories, best first; those of `already_served` come on top of the limit.

    `estimate_visibility` makes, or remembers, the estimate of how much the caller sees.
    """
    members, tenant = visibility.signals.tenant_sketches, code(visibility.selection.tenant_id)
    count = members.count(tenant)
    estimate = estimate_visibility(visibility) if count > JUDGED_ALL else NOT_ESTIMATED
    if count <= SCANNED and estimate.lists <= MANY_LISTS:
        scan = _Scan(vector, visibility, tenant, count, limit, already_served)
        hits = scan.judged_after(estimate.share) if scan.pays(estimate.share) else None
        if hits is None and count <= MAX_JUDGED_BEFORE:
            hits = scan.judged_before()
        if hits is not None:
            return hits
    share = estimate.share * count / len(visibility.signals)
    return _indexed(vector, visibility, vectors, share, limit=limit, already_served=already_served)


@dataclass(frozen=True, slots=True)
class _Scan:
    """A search over the sketches of all memories of a tenant."""

    vector: NDArray[np.float32]
    visibility: Visibility
    tenant: int
    count: int
    limit: int
    already_served: NDArray[np.int64]

    def pays(self, share: float) -> bool:
        """Whether to choose first and judge then, where about `share` of the tenant is visible."""
        return share >= JUDGED_AFTER and self._chosen <= MOST_COMPARED * share

    def judged_after(self, share: float) -> Hits | None:
        """The nearest, where about `share` is visible; None if fewer than asked for are left."""
        count, limit = int(self._chosen / share), int(self._wanted * SPARE / share)
        hits = self._nearest(count, limit, self.already_served)
        return _visible_of(hits, self.visibility, self.limit, self.already_served)

    def judged_before(self) -> Hits:
        """The nearest of the visible ones."""
        visible = self.visibility.is_visible(self.visibility.signals.tenant_sketches.of(self.tenant))
        served = self.already_served[self.visibility.is_visible(self.already_served)]
        hits = self._nearest(self._chosen, self._wanted, served, visible)
        everyone = np.ones(len(hits), bool)
        return first_visible(hits, everyone, limit=self.limit, already_served=self.already_served)

    @property
    def _wanted(self) -> int:
        return self.limit + len(self.already_served)

    @property
    def _chosen(self) -> int:
        return max(COMPARED, int(self.limit * SKETCHED * max(1.0, math.sqrt(self.count / CROWDED))))

    def _nearest(
        self,
        chosen: int,
        limit: int,
        also: NDArray[np.int64],
        among: NDArray[np.bool_] | None = None,
    ) -> Hits:
        """The `limit` nearest of `chosen` memories by sketch and of those in `also`."""
        signals = self.visibility.signals
        near = signals.nearest_sketches(self.vector, self.tenant, chosen + len(also), among)
        near = distinct(near, also) if len(also) else near
        return Hits.ranked(near, signals.cosines(self.vector, near), limit=limit)


def _indexed(
    vector: NDArray[np.float32],
    visibility: Visibility,
    vectors: VectorReader,
    share: float,
    *,
    limit: int,
    already_served: NDArray[np.int64],
) -> Hits:
    """The nearest by the index, where about `share` of the corpus is visible."""
    if share >= BROAD:
        spared = min(int((limit + len(already_served)) * SPARE / share), MAX_HITS)
        hits = _nearest(vector, None, visibility, vectors, limit=spared)
        if (visible := _visible_of(hits, visibility, limit, already_served)) is not None:
            return visible
    nprobes = None if vectors.index is None else vectors.index.nprobes_within(share)
    selection = visibility.selection
    return visible_hits(
        lambda count: _nearest(vector, selection, visibility, vectors, limit=count, nprobes=nprobes),
        visibility.is_valid_at,
        limit=limit,
        already_served=already_served,
    )


def _visible_of(
    hits: Hits, visibility: Visibility, limit: int, already_served: NDArray[np.int64]
) -> Hits | None:
    """The visible hits, None where they are too few for the limit."""
    visible = visibility.is_visible(hits.ordinals)
    if np.count_nonzero(visible) < limit + len(already_served):
        return None
    return first_visible(hits, visible, limit=limit, already_served=already_served)


def _nearest(
    vector: NDArray[np.float32],
    selection: Selection | None,
    visibility: Visibility,
    vectors: VectorReader,
    *,
    limit: int,
    nprobes: int | None = None,
) -> Hits:
    """The nearest of the index, and of the few rows it does not hold yet, which are all compared."""
    tail = vectors.tail
    hits = vectors.search(vector, selection, limit=limit, nprobes=nprobes, indexed_only=tail is not None)
    if tail is None or not len(tail):
        return hits
    # both are distinct, so that numpy needs not look
    fresh = np.setdiff1d(tail[visibility.is_visible(tail)], hits.ordinals, assume_unique=True)
    scores = np.concatenate([hits.scores, visibility.signals.cosines(vector, fresh)])
    return Hits.ranked(np.concatenate([hits.ordinals, fresh]), scores, limit=limit)
