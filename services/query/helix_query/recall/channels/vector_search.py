"""The visible memories nearest to a vector, in the cheapest of four ways; the score is the exact cosine.

- Pre-filter, then scan: visibility of every memory of the tenant is checked, then the sketches of the visible
  ones are scanned and the nearest rescored. For a tenant of which few memories are visible.
- Scan, then post-filter: all sketches of the tenant are scanned, the nearest are rescored, then their
  visibility is checked. For a tenant of up to `MAX_SCANNED` memories of which many are visible.
- Vector index, then post-filter: for a larger tenant where the caller sees a good part of the corpus.
- Vector index with the filter of the engine: for all others (ops/decisions/0015, 0020).
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

MAX_SCANNED: Final = 1_048_576
"""Memories of a tenant up to which all sketches are scanned: that costs less than the index."""
MAX_PREFILTERED: Final = 131_072
"""Memories of a tenant up to which the visibility of each may be checked before the scan: 0020."""
MAX_WITHOUT_ESTIMATE: Final = 8_192
"""Memories of a tenant up to which no sample is taken: the visibility of each is checked (0020)."""
MAX_RESCORED: Final = 8_192
"""Memories chosen by sketch, above which rescoring them costs more than asking the index."""
MIN_RESCORED: Final = 2_048
"""Memories chosen by sketch at least; of so few visible ones, each is rescored.

Each lies on a page of its own; reading that takes .1 to 3 microseconds, depending on the machine's cache.
"""
SKETCH_OVERFETCH: Final = 20
"""Memories chosen by sketch for every one asked for: this misses one or two of a hundred nearest.

A tenant of more than `LARGE_TENANT` gets more, by the root of its size: more of them are near by chance.
"""
LARGE_TENANT: Final = 524_288
"""Memories of a tenant."""
MIN_POSTFILTER_SHARE: Final = 0.25
"""Visible share of a tenant from which filtering after the scan is cheaper than before it."""
MAX_ACCESS_LISTS: Final = 64
"""Access lists in a sample, above which the engine filters: reading all of them takes a second."""
MIN_UNFILTERED_SHARE: Final = 0.1
"""Visible share of the corpus from which the index is asked without a filter."""
OVERFETCH: Final = 2.0
"""Factor on the candidates that the visible share calls for: visible memories are not spread evenly."""
NOT_ESTIMATED: Final = VisibilityEstimate(0.0, 0)
"""The estimate for a tenant so small that the visibility of each memory is checked."""


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
    sketches, tenant = visibility.signals.tenant_sketches, code(visibility.selection.tenant_id)
    count = sketches.count(tenant)
    estimate = estimate_visibility(visibility) if count > MAX_WITHOUT_ESTIMATE else NOT_ESTIMATED
    if count <= MAX_SCANNED and estimate.lists <= MAX_ACCESS_LISTS:
        scan = _Scan(vector, visibility, tenant, count, limit, already_served)
        hits = scan.postfiltered(estimate.share) if scan.should_postfilter(estimate.share) else None
        if hits is None and count <= MAX_PREFILTERED:
            hits = scan.prefiltered()
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

    def should_postfilter(self, share: float) -> bool:
        """Whether to filter after the scan, where about `share` of the tenant is visible."""
        return share >= MIN_POSTFILTER_SHARE and self._chosen <= MAX_RESCORED * share

    def postfiltered(self, share: float) -> Hits | None:
        """Scan, then filter; `share` is about the visible part. None if fewer than asked for are left."""
        count, limit = int(self._chosen / share), int(self._wanted * OVERFETCH / share)
        hits = self._nearest(count, limit, self.already_served)
        return _visible_of(hits, self.visibility, self.limit, self.already_served)

    def prefiltered(self) -> Hits:
        """Filter, then scan."""
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
        growth = max(1.0, math.sqrt(self.count / LARGE_TENANT))
        return max(MIN_RESCORED, int(self.limit * SKETCH_OVERFETCH * growth))

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
    if share >= MIN_UNFILTERED_SHARE:
        overfetched = min(int((limit + len(already_served)) * OVERFETCH / share), MAX_HITS)
        hits = _nearest(vector, None, visibility, vectors, limit=overfetched)
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
