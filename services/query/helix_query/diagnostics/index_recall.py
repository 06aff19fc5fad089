"""Recall of the vector index against exact search on a sample, for `helix status --deep`.

Queries are stored vectors, evenly spread over the ordinals, so two calls on one generation give the same
result. Exact search reads the vectors of the table once, in batches: about 2 s and a few MiB for a million
rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helix_query.recall.visibility import Mask
    from helix_shared.artifacts.signals.reader import Signals
    from helix_shared.artifacts.vectors.reader import VectorReader

QUERIES: Final = 32
DEPTH: Final = 100


@dataclass(frozen=True, slots=True)
class IndexRecall:
    """A measurement: `recall` is the mean share that was found of the exact `depth` nearest."""

    recall: float | None
    """None without vectors to search."""
    depth: int
    queries: int
    rows: int
    unindexed_rows: int
    scan: str
    partitions: int
    nprobes: int
    candidates: int
    storage: str
    dimensions: int
    scanned_dimensions: int


def index_recall(
    vectors: VectorReader, signals: Signals, *, queries: int = QUERIES, depth: int = DEPTH
) -> IndexRecall:
    """Measure the vector index of one generation, over all its rows."""
    sample = _sample(signals, queries)
    sampled = signals.vectors(sample)
    exact = exact_nearest(vectors, sampled, depth) if len(sample) else []
    shares = [
        np.isin(expected, vectors.search(query, None, limit=depth).ordinals).mean()
        for query, expected in zip(sampled, exact, strict=True)
    ]
    index = vectors.index
    return IndexRecall(
        recall=float(np.mean(shares)) if shares else None,
        depth=depth,
        queries=len(sample),
        rows=vectors.count,
        unindexed_rows=vectors.unindexed_rows,
        scan="exact" if index is None else index.kind,
        partitions=0 if index is None else index.partitions,
        nprobes=0 if index is None else index.nprobes,
        candidates=vectors.candidates(depth),
        storage=signals.storage,
        dimensions=vectors.dimensions,
        scanned_dimensions=vectors.scanned_dimensions,
    )


def _sample(signals: Signals, queries: int) -> NDArray[np.int64]:
    visible = np.flatnonzero(~signals.hidden)
    chosen: NDArray[np.int64] = visible[:: max(1, -(-len(visible) // queries))]
    used: NDArray[np.int64] = chosen[np.linalg.norm(signals.vectors(chosen), axis=1) > 0]
    return used


def exact_nearest(
    vectors: VectorReader, queries: NDArray[np.float32], depth: int, *, counted: Mask | None = None
) -> list[NDArray[np.int64]]:
    """Ordinals of the `depth` rows nearest to each of `queries` [n, dimensions], by whole vectors.

    Only rows that `counted` selects; by default all.
    """
    scores = np.empty((len(queries), 0), np.float32)
    found = np.empty((len(queries), 0), np.int64)
    for every, full in vectors.all_vectors():
        kept = slice(None) if counted is None else counted(every)
        ordinals = every[kept]
        scores = np.hstack([scores, queries @ full[kept].T])
        found = np.hstack([found, np.broadcast_to(ordinals, (len(queries), len(ordinals)))])
        if scores.shape[1] > depth:
            best = np.argpartition(-scores, depth - 1, axis=1)[:, :depth]
            scores, found = np.take_along_axis(scores, best, 1), np.take_along_axis(found, best, 1)
    return list(found)
