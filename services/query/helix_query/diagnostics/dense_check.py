"""Recall of the dense channel against exact search, for `helix status --deep` and the benchmark.

The channel is searched as in a recall, with or without the index; `index_recall` measures the index alone.
Exact search reads the stored vectors of the table once, in batches.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import numpy as np

from helix_query.diagnostics.index_recall import DEPTH, QUERIES, exact_nearest
from helix_query.recall.channels.vector_search import nearest_visible
from helix_query.recall.visibility import Visibility
from helix_shared.artifacts.filter.selection import Selection

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from helix_shared.artifacts.generation.reader import Generation
    from helix_shared.artifacts.signals.reader import Signals

SAMPLE_SIZE: Final = 64
"""Memories of a tenant that are read to find one that is not erased."""


@dataclass(frozen=True, slots=True)
class ChannelRecall:
    """A measurement: `recall` is the mean share that was found of the exact `depth` nearest."""

    tenant_id: str
    recall: float
    worst: float
    """The smallest share of a query."""
    depth: int
    queries: int
    memories: int
    """Number of memories of the tenant that a caller without a user may see."""


def channel_recall(
    generation: Generation,
    tenant_id: str,
    vectors: NDArray[np.float32] | None = None,
    *,
    depth: int = DEPTH,
) -> ChannelRecall | None:
    """Measure for a caller without a user; None if this caller sees no memory.

    `vectors` [n, dimensions] are unit queries; by default vectors of visible memories, evenly spread.
    """
    signals = generation.signals
    visibility = Visibility.of(generation, Selection(tenant_id), datetime.now(UTC))
    seen = np.arange(len(signals))
    seen = seen[visibility.is_visible(seen)]
    if not len(seen):
        return None
    sought = signals.vectors(seen[:: -(-len(seen) // QUERIES)]) if vectors is None else vectors
    exact = exact_nearest(generation.vectors, sought, depth, counted=visibility.is_visible)
    shares = [
        np.isin(
            wanted, nearest_visible(query, visibility, vectors=generation.vectors, limit=depth).ordinals
        ).mean()
        for query, wanted in zip(sought, exact, strict=True)
    ]
    return ChannelRecall(
        tenant_id,
        recall=float(np.mean(shares)),
        worst=float(np.min(shares)),
        depth=depth,
        queries=len(shares),
        memories=len(seen),
    )


def largest_tenant(signals: Signals) -> str | None:
    """The tenant with the most memories; None without memories."""
    members = signals.tenant_sketches
    for code in sorted(members.blocks, key=members.count, reverse=True):
        lines = signals.records(members.sample(code, SAMPLE_SIZE))
        if lines:
            return str(lines[0]["tenant_id"])
    return None
