"""Fills the replies of `helix_memory.recall.v1`; values are copied, nothing is decided here.

`explanation` and `why_not` fill the messages of their names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from helix_memory.recall.v1 import recall_pb2
from helix_query.api.responses.explanation import explanation_message
from helix_query.api.responses.profile import profile_message
from helix_query.recall.packing.rows import SIGNAL_TIMES

if TYPE_CHECKING:
    from helix_query.diagnostics.explanation import Explanation
    from helix_query.generations.replica_state import ReplicaState
    from helix_query.generations.snapshot import Snapshot
    from helix_query.recall.candidates import Route
    from helix_query.recall.query import Query
    from helix_query.recall.result import Packed, RecalledRow, RecallResult
    from helix_shared.artifacts.generation.manifest import Manifest
    from helix_shared.encoders.cross_encoder import CrossEncoder
    from helix_shared.rpc.statuses import Refused

MILLISECONDS: Final = 1000.0
SECONDS_PER_DAY: Final = 86_400

_SOURCE = (
    "event_id", "event_kind", "stream_sequence", "document_id", "source_uri", "piece", "char_start",
    "char_end", "speaker", "role",
)  # fmt: skip
_COPIED_FIELDS = (
    "memory_id", "tenant_id", "user_id", "project_id", "session_id", "type", "text", "title", "context",
    "salience", "confidence", "pinned", "priority", "token_count", "categories", "expansions",
    "superseded_by", "source_class", "event_guessed", "speech_act", "answers", "answered_by", "derived_from",
    "flags", "facets",
)  # fmt: skip
_TENANT_STATUS_FIELDS = (
    "generation", "applied_sequence", "derived_sequence", "published_at", "model", "model_checksum",
    "instance",
)  # fmt: skip
_USE_TIMES = ("last_accessed_at", "decayed_at")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def recall_response(
    result: RecallResult,
    query: Query,
    snapshot: Snapshot,
    *,
    total_seconds: float,
    explanation: Explanation | None = None,
) -> recall_pb2.RecallResponse:
    """The reply to Recall."""
    packed, estimate = set(result.packed.memory_ids), result.estimate
    relevance = _relevance(result)
    return recall_pb2.RecallResponse(
        memories=[
            _recalled(found, rank, packed, likely)
            for rank, (found, likely) in enumerate(zip(result.rows, relevance, strict=True), start=1)
        ],
        context=context_message(result.packed),
        route=_route(result.route),
        stages=[
            recall_pb2.StageTime(stage=stage, milliseconds=seconds * MILLISECONDS)
            for stage, seconds in result.seconds
        ],
        total_milliseconds=total_seconds * MILLISECONDS,
        generation=snapshot.number,
        applied_sequence=snapshot.applied_sequence,
        degraded=result.degraded,
        ranking_profile=query.profile,
        stale=snapshot.is_stale(query.min_sequence),
        wanted_sequence=query.min_sequence,
        already_served_count=result.already_served,
        explanation=None if explanation is None else explanation_message(explanation),
        relevance=None if estimate is None else estimate.answer,
        abstained=estimate is not None and estimate.abstained,
        abstained_because="" if estimate is None else estimate.reason,
        profile=None if result.profile is None else profile_message(result.profile),
    )


def context_message(packed: Packed) -> recall_pb2.PackedContext:
    """A packed context as a message."""
    return recall_pb2.PackedContext(
        text=packed.text,
        memory_ids=packed.memory_ids,
        tokens=packed.tokens,
        surrounding_ids=packed.surrounding_ids,
        quoted_ids=packed.quoted_ids,
    )


def without_other_tenants(status: recall_pb2.GetStatusResponse) -> recall_pb2.GetStatusResponse:
    """The status that a caller of one tenant may see: the position of the generation, no counts."""
    for field, _ in status.ListFields():
        if field.name not in _TENANT_STATUS_FIELDS:
            status.ClearField(field.name)
    return status


def batch_response(
    outcomes: Sequence[recall_pb2.RecallResponse | Refused], *, generation: int
) -> recall_pb2.BatchRecallResponse:
    """The reply to BatchRecall."""
    return recall_pb2.BatchRecallResponse(results=map(_result, outcomes), generation=generation)


def memory_response(
    row: Mapping[str, Any], entities: Sequence[str], display_names: Sequence[str], snapshot: Snapshot
) -> recall_pb2.GetMemoryResponse:
    """The reply to GetMemory, which alone tells who may recall the memory and how it was used."""
    memory = memory_message(row, entities)
    memory.entity_display_names.extend(display_names)
    memory.owner = row["owner"]
    memory.audience.extend(row["audience"])
    memory.access_count = row.get("access_count", 0)
    for name in _USE_TIMES:
        if (moment := row.get(name)) is not None:
            getattr(memory, name).FromDatetime(moment)
    return recall_pb2.GetMemoryResponse(memory=memory, generation=snapshot.number)


def memory_message(row: Mapping[str, Any], entities: Sequence[str]) -> recall_pb2.Memory:
    """A row of the vector table as a message."""
    fields: dict[str, Any] = {name: row[name] for name in _COPIED_FIELDS}
    # None leaves a field unset
    times: dict[str, Any] = {name: timestamp(row[name]) for name in SIGNAL_TIMES if row[name] is not None}
    source: Any = {name: row[name] for name in _SOURCE}
    return recall_pb2.Memory(**fields, **times, source=source, entities=entities)


def status_response(
    manifest: Manifest | None, shard: int, *, uptime_seconds: float, instance: str
) -> recall_pb2.GetStatusResponse:
    """The reply to GetStatus about a generation of a shard; generation 0 without one."""
    if manifest is None:
        return recall_pb2.GetStatusResponse(uptime_seconds=uptime_seconds, instance=instance)
    return recall_pb2.GetStatusResponse(
        generation=manifest.generation,
        applied_sequence=manifest.applied_sequence,
        derived_sequence=manifest.derived_sequence,
        published_at=manifest.published_at,
        model=manifest.model.name,
        model_checksum=manifest.model.checksum,
        memories=manifest.counts.recallable,
        entities=manifest.counts.entities,
        edges=manifest.counts.edges,
        decayed=manifest.counts.decayed,
        uptime_seconds=uptime_seconds,
        instance=instance,
        shards=[
            recall_pb2.ShardStatus(
                shard=shard,
                generation=manifest.generation,
                applied_sequence=manifest.applied_sequence,
                memories=manifest.counts.recallable,
                model=manifest.model.name,
            )
        ],
    )


def describe_cross_encoders(
    reply: recall_pb2.GetStatusResponse,
    loaded: Mapping[str, CrossEncoder],
    profiles: Mapping[str, Sequence[str]],
) -> None:
    """Add the loaded cross-encoders to a status, with the profiles that name each."""
    reply.cross_encoders.extend(
        recall_pb2.LoadedCrossEncoder(
            model=name, checksum=one.card.checksum, ranking_profiles=profiles.get(name, ())
        )
        for name, one in loaded.items()
    )


def describe_learned_adapters(reply: recall_pb2.GetStatusResponse, snapshot: Snapshot) -> None:
    """Add the number of learned query adapters to a status, if there are any."""
    if snapshot.learned_adapters is not None:
        fitting, refused = snapshot.learned_adapters.counts(snapshot.encoder)
        if fitting or refused:
            reply.learned_adapters.fitting, reply.learned_adapters.refused = fitting, refused


def describe_replica(reply: recall_pb2.GetStatusResponse, state: ReplicaState) -> None:
    """Add the bucket to a status, its newest generation, and why that is not here."""
    reply.replica.bucket, reply.replica.newest, reply.replica.problem = (
        state.bucket,
        state.newest,
        state.problem,
    )


def timestamp(moment: datetime) -> dict[str, int]:
    """Fields of a Timestamp; protobuf's own conversion takes much longer."""
    since = moment - _EPOCH
    return {"seconds": since.days * SECONDS_PER_DAY + since.seconds, "nanos": since.microseconds * 1_000}


def _relevance(result: RecallResult) -> Sequence[float | None]:
    """Probability of each row, or None."""
    estimate = result.estimate
    if estimate is None or estimate.memories is None:
        return [None] * len(result.rows)
    likely: list[float | None] = estimate.memories.tolist()
    return likely


def _recalled(
    found: RecalledRow, rank: int, packed: set[str], relevance: float | None
) -> recall_pb2.RecalledMemory:
    return recall_pb2.RecalledMemory(
        memory=memory_message(found.row, found.entities),
        rank=rank,
        score=found.score,
        cosine=found.cosine,
        channels=found.channels,
        packed=found.row["memory_id"] in packed,
        relevance=relevance,
    )


def _result(outcome: recall_pb2.RecallResponse | Refused) -> recall_pb2.RecallResult:
    if isinstance(outcome, recall_pb2.RecallResponse):
        return recall_pb2.RecallResult(response=outcome)
    status, message = outcome
    code: int = status.value[0]
    return recall_pb2.RecallResult(error=recall_pb2.RecallError(code=code, message=message))


def _route(route: Route) -> recall_pb2.Route:
    window = route.window
    return recall_pb2.Route(
        skipped=route.skip,
        intents=route.intents,
        window_start=None if window is None else window.start,
        window_end=None if window is None else window.end,
        reason=route.reason,
    )
