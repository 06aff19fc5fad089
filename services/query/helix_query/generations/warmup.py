"""Warms a generation before the swap, so that its first query does not wait for page faults or caches.

A canary recall on every channel is part of it: a generation that cannot answer is refused while the last
good one still answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import numpy as np

from helix_query.generations.indexes.authors import Authors
from helix_query.generations.snapshot import Snapshot
from helix_query.recall.candidates import EVIDENCE
from helix_query.recall.channels import LANES
from helix_query.recall.context import RecallContext
from helix_query.recall.query import Query
from helix_query.recall.recall import recall
from helix_query.recall.routing.centroids import centroids_of
from helix_query.scheduling.worker_threads import WorkerThreads
from helix_shared.artifacts.filter.selection import Selection
from helix_shared.errors import CorruptArtifactError

if TYPE_CHECKING:
    from helix_query.generations.indexes.session_order import SessionOrder
    from helix_query.generations.indexes.time_order import TimeOrder
    from helix_query.generations.learned_adapters import LearnedAdapters
    from helix_query.profile.profile import RankingProfile
    from helix_shared.artifacts.generation.reader import Generation
    from helix_shared.encoders.cross_encoder import CrossEncoder
    from helix_shared.encoders.encoder import Encoder

CANARY_SECONDS: Final = 30.0
"""Deadline of a channel on a cold page cache; a slower channel is broken."""
CANARY_QUERIES: Final = (
    "what was decided about the release",
    "who is on call this week",
    "src/main.py error",
    "which cake should we order for the team",
)
CANARY_TENANT: Final = "canary"


def warm(
    generation: Generation,
    encoder: Encoder,
    *,
    profile: RankingProfile,
    now: datetime,
    at_start: bool = True,
    previous_order: SessionOrder | None = None,
    previous_times: TimeOrder | None = None,
    authors: Authors | None = None,
    cross_encoders: Mapping[str, CrossEncoder] = MappingProxyType({}),
    learned_adapters: LearnedAdapters | None = None,
) -> Snapshot:
    """The snapshot of a generation, warmed.

    Later swaps than the first one of an encoder (`at_start`) warm less, because queries run beside them.
    `previous_order`, `previous_times` and `authors` are those of the generation before, `cross_encoders`
    those of the profiles, `learned_adapters` those of the data folder.

    Raises:
        CorruptArtifactError: a channel does not answer.
    """
    snapshot = Snapshot(
        generation,
        encoder,
        centroids_of(encoder),
        previous_order,
        previous_times,
        authors=Authors() if authors is None else authors,
        cross_encoders=cross_encoders,
        learned_adapters=learned_adapters,
    )
    generation.vectors.warm(with_index=at_start)
    generation.lexicon.warm()
    generation.signals.warm()
    _ = snapshot.facet_index.value
    tenant = _some_tenant(generation)
    with ExitStack() as held:
        lanes = {channel: WorkerThreads(1, name=f"canary-{channel}") for channel in LANES}
        for lane in lanes.values():
            # not waited for: a channel that hangs must not delay the next generation
            held.callback(lane.shutdown, wait=False)
        for text in CANARY_QUERIES if at_start else CANARY_QUERIES[:1]:
            query = Query(text, Selection(tenant), now, now, never_skip=True)
            answer = recall(
                RecallContext.of(query, snapshot, profile),
                lanes=lanes,
                channel_deadline_seconds=CANARY_SECONDS,
            )
            # `degraded` also names PageRank, which a dense graph may skip: the generation is intact
            missing = ", ".join(name for name in answer.degraded if name in (*LANES, *EVIDENCE))
            if missing:
                raise CorruptArtifactError(f"generation {snapshot.number}: no answer from {missing}")
    return snapshot


def _some_tenant(generation: Generation) -> str:
    """A tenant with memories, so that the canary reads real postings; any token if there is none."""
    newest = np.arange(generation.manifest.counts.signals)[-1:]
    lines = generation.signals.records(newest)
    return str(lines[0]["tenant_id"]) if lines else CANARY_TENANT
