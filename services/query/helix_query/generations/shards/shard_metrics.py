"""The metrics of the shards of a process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from helix_query.metrics import (
    SHARD_APPLIED,
    SHARD_BYTES,
    SHARD_LOADED,
    SHARD_MEMORY,
    SHARD_PUBLISHED,
)
from helix_shared.telemetry.metrics import report_generation

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from helix_query.generations.shards.shard import Shard

SERVICE: Final = "query"


@dataclass(frozen=True, slots=True)
class _Oldest:
    """Of all shards, what alerts look at: the least of each."""

    generation: int
    published_at: datetime
    applied_sequence: int


def report_shards(shards: Iterable[Shard], *, resident_bytes: int) -> None:
    """Set the metrics by shard, and those of the service: the least of its shards, the memories of all."""
    SHARD_MEMORY.set(resident_bytes)
    newest = []
    for shard in shards:
        label = str(shard.number)
        SHARD_LOADED.labels(label).set(shard.is_loaded)
        SHARD_BYTES.labels(label).set(shard.resident_bytes)
        if shard.newest is not None:
            newest.append(shard.newest)
            SHARD_APPLIED.labels(label).set(shard.newest.applied_sequence)
            SHARD_PUBLISHED.labels(label).set(shard.newest.published_at.timestamp())
    if newest:
        oldest = _Oldest(
            min(one.generation for one in newest),
            min(one.published_at for one in newest),
            min(one.applied_sequence for one in newest),
        )
        report_generation(SERVICE, oldest, memories=sum(one.counts.recallable for one in newest))
