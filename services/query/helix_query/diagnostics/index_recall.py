"""How much of exact search the vector index finds: its recall@100 on a sample, for `helix status --deep`.

Queries are stored vectors, evenly spread over the ordinals, so two calls on one generation say the same.
Exact search reads the whole vectors of the table once in batches: about two seconds and a few MiB for a
million rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helix_shared.artifacts.signals.reader import Signals
    from helix_shared.artifacts.vectors.reader import VectorReader

Seen = Callable[["NDArray[np.int64]"], "NDArray[np.bool_]"]
"""Which of some ordinals count."""

QUERIES: Final = 32
DEPTH: Final = 100


@dataclass(frozen=True, slots=True)
class DenseRecall:
    """What was measured and on what: `recall` is the share found of the exact `depth` nearest."""

    recall: float | None
    """None: there is nothing to search."""
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


def dense_recall(
    vectors: VectorReader, signals: Signals, *, queries: int = QUERIES, depth: int = DEPTH
) -> DenseRecall:
    """Measure the vector index of one generation, over all its rows."""
    sample = _sample(signals, queries)
    sought = signals.vectors(sample)
    exact = exact_nearest(vectors, sought, depth) if len(sample) else []
    shares = [
        np.isin(wanted, vectors.search(query, None, limit=depth).ordinals).mean()
        for query, wanted in zip(sought, exact, strict=True)
    ]
    index = vectors.index
    return DenseRecall(
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
    shown = np.flatnonzero(~signals.hidden)
    chosen: NDArray[np.int64] = shown[:: max(1, -(-len(shown) // queries))]
    used: NDArray[np.int64] = chosen[np.linalg.norm(signals.vectors(chosen), axis=1) > 0]
    return used


def exact_nearest(
    vectors: VectorReader, sought: NDArray[np.float32], depth: int, *, seen: Seen | None = None
) -> list[NDArray[np.int64]]:
    """Ordinals of the `depth` rows nearest to each of `sought` [n, dimensions], by whole vectors.

    Of those that `seen` tells; by default of all.
    """
    scores = np.empty((len(sought), 0), np.float32)
    found = np.empty((len(sought), 0), np.int64)
    for every, full in vectors.all_vectors():
        kept = slice(None) if seen is None else seen(every)
        ordinals = every[kept]
        scores = np.hstack([scores, sought @ full[kept].T])
        found = np.hstack([found, np.broadcast_to(ordinals, (len(sought), len(ordinals)))])
        if scores.shape[1] > depth:
            best = np.argpartition(-scores, depth - 1, axis=1)[:, :depth]
            scores, found = np.take_along_axis(scores, best, 1), np.take_along_axis(found, best, 1)
    return list(found)
