"""A recall: the eight stages in their order. Read this file to know how an answer comes about.

Everything comes from one generation, held from start to end. Time is the question's. A query the
router skips ends after stage 2. `binding` gives the stages what they need.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Self

from helix_query.diagnostics.explain import Trace, explained
from helix_query.recall.binding import Binding
from helix_query.recall.query import RecallResult
from helix_query.scheduling.deadline import check
from helix_shared.telemetry import RECALL_SECONDS

if TYPE_CHECKING:
    from concurrent.futures import Executor

    import numpy as np
    from numpy.typing import NDArray
    from prometheus_client import Histogram

    from helix_query.generations.snapshot import Snapshot
    from helix_query.profile.profile import RankingProfile
    from helix_query.recall.query import Query


@dataclass(slots=True)
class Stopwatch:
    """Seconds of every stage, in the order they ran; stages do not overlap, and none begins past `until`."""

    until: float
    seconds: list[tuple[str, float]] = field(default_factory=list)
    _stage: str = ""
    _started: float = 0.0

    def __call__(self, stage: str) -> Self:
        """Time one stage: what runs in the `with` of this."""
        self._stage = stage
        return self

    def __enter__(self) -> None:
        check(self.until)
        self._started = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        elapsed = time.perf_counter() - self._started
        self.seconds.append((self._stage, elapsed))
        _seconds_of(self._stage).observe(elapsed)


@cache
def _seconds_of(stage: str) -> Histogram:
    """The histogram of one stage; looking it up by label costs more than observing."""
    return RECALL_SECONDS.labels(stage)


def recall(
    question: Query,
    served: Snapshot,
    *,
    profile: RankingProfile,
    lanes: Mapping[str, Executor],
    channel_deadline_seconds: float,
    vector: NDArray[np.float32] | None = None,
    until: float = math.inf,
) -> RecallResult:
    """Answer `question` from one generation.

    `lanes` has one executor per channel, so that a stuck channel never keeps another one waiting. `vector` is
    that of the question, for a caller who asks the same one several times. `until` is the deadline, of the
    monotonic clock: no wait goes past it, and no stage begins after it.

    Raises:
        TemporaryError: no channel answered.
        OverdueError: the deadline passed.
    """
    stage = Stopwatch(until)
    stages = Binding(question, served, profile, until)
    begun = stages.begin(lanes)
    way = None
    try:
        with stage("embed"):
            vector = stages.embed() if vector is None else vector
        with stage("route"):
            way = stages.route(vector)
    finally:
        if begun is not None and (way is None or way.skip):
            begun.cancel()
    if way.skip:
        return RecallResult(way, tuple(stage.seconds))
    with stage("retrieve"):
        retrieved = stages.retrieve(vector, way, lanes, channel_deadline_seconds, begun)
    with stage("fuse"):
        fused = stages.fuse(retrieved, vector, way)
    with stage("expand"):
        pool = stages.expand(fused, vector, way)
    with stage("rank"):
        ranked = stages.rank(pool, way)
    with stage("rerank"):
        ranked = stages.rerank(ranked)
    with stage("diversify"):
        diverse = stages.diversify(ranked, pool, way)
        chosen, already = stages.delta(diverse, pool)
    with stage("fetch"):
        rows = stages.fetch(chosen, pool)
    with stage("abstain"):
        belief = stages.abstain(rows, pool, retrieved, way)
    with stage("pack"):
        abstained = belief is not None and belief.abstained
        packed = stages.pack(() if abstained else rows)
    explanation = None
    if question.explain:
        with stage("explain"):
            trace = Trace(way, retrieved, fused, pool, ranked, diverse, chosen, abstained)
            explanation = explained(trace, stages, rows, packed)
    degraded = (*retrieved.degraded, *pool.degraded)
    return RecallResult(way, tuple(stage.seconds), rows, packed, degraded, already, explanation, belief)
