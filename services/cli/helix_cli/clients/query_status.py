"""Status of the query service; being down is a status too, so no error is raised."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from helix_memory.recall.v1.recall_pb2 import GetStatusResponse
from helix_memory.transport.credentials import CallCredentials
from helix_memory.transport.recall_client import RecallClient
from helix_shared.errors import HelixError

STATUS_SECONDS: Final = 3.0


@dataclass(frozen=True, slots=True)
class AccessStatus:
    """Accesses in the query service: waiting for a forwarder, dropped, and how many forwarders read."""

    waiting: int
    dropped: int
    forwarders: int


@dataclass(frozen=True, slots=True)
class LearnedAdapterStatus:
    """Query adapters of single tenants: those that fit the model, and those that are not used."""

    fitting: int
    refused: int


@dataclass(frozen=True, slots=True)
class ReplicaStatus:
    """The bucket that a replica pulls from, the newest generation there, and why that is not here."""

    bucket: str
    newest: int
    problem: str


@dataclass(frozen=True, slots=True)
class ShardStatus:
    """The generation of one shard."""

    shard: int
    generation: int
    applied_sequence: int
    memories: int
    model: str


@dataclass(frozen=True, slots=True)
class QueryStatus:
    """Status of the query service; `problem` is empty when it answers."""

    address: str
    problem: str = ""
    generation: int = 0
    age_seconds: float | None = None
    applied_sequence: int = 0
    derived_sequence: int = 0
    model: str = ""
    model_checksum: str = ""
    memories: int = 0
    entities: int = 0
    edges: int = 0
    uptime_seconds: float = 0.0
    decayed: int = 0
    """Memories that decay hides."""
    accesses: AccessStatus | None = None
    """None: they are not recorded."""
    cross_encoders: dict[str, list[str]] = field(default_factory=dict)
    """Ranking profiles by the loaded cross-encoder that they name; empty: none is on."""
    learned_adapters: LearnedAdapterStatus | None = None
    """None: there are none."""
    replica: ReplicaStatus | None = None
    """None: it pulls nothing."""
    shards: tuple[ShardStatus, ...] = ()
    """Those that have a generation; generation, age and sequences above are of the one that is behind."""


def generation_of(reply: GetStatusResponse, shard: int) -> int:
    """The generation that is served of a shard; 0: none. A service of an older release names no shard."""
    found = {one.shard: one.generation for one in reply.shards}
    return found.get(shard, 0) if found else reply.generation


def query_status(
    address: str, instance: str, credentials: CallCredentials | None, *, now: datetime
) -> QueryStatus:
    """Ask the query service; its errors end up in `problem`."""
    try:
        with RecallClient(
            address, call_seconds=STATUS_SECONDS, instance=instance, credentials=credentials
        ) as client:
            reply = client.status()
    except HelixError as error:
        return QueryStatus(address, problem=str(error))
    published = reply.published_at.ToDatetime(UTC) if reply.HasField("published_at") else None
    return QueryStatus(
        address,
        generation=reply.generation,
        age_seconds=(now - published).total_seconds() if published and reply.generation else None,
        applied_sequence=reply.applied_sequence,
        derived_sequence=reply.derived_sequence,
        model=reply.model,
        model_checksum=reply.model_checksum,
        memories=reply.memories,
        entities=reply.entities,
        edges=reply.edges,
        uptime_seconds=reply.uptime_seconds,
        decayed=reply.decayed,
        accesses=AccessStatus(reply.accesses.waiting, reply.accesses.dropped, reply.accesses.forwarders)
        if reply.HasField("accesses")
        else None,
        cross_encoders={one.model: list(one.ranking_profiles) for one in reply.cross_encoders},
        learned_adapters=LearnedAdapterStatus(reply.learned_adapters.fitting, reply.learned_adapters.refused)
        if reply.HasField("learned_adapters")
        else None,
        replica=ReplicaStatus(reply.replica.bucket, reply.replica.newest, reply.replica.problem)
        if reply.HasField("replica")
        else None,
        shards=tuple(
            ShardStatus(one.shard, one.generation, one.applied_sequence, one.memories, one.model)
            for one in reply.shards
        ),
    )
