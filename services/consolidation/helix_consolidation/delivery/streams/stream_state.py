"""State of the streams: their ends, whether they match the last generation, which messages are gone.

In a stream that was truncated or created again, new events reuse sequences that count as applied. A data
folder that is older than the acknowledgements lacks messages that are never delivered again. Both are
detected at the start, before anything is applied; what is still in a stream is delivered again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from nats.js.errors import NotFoundError

from helix_memory.subjects import (
    ACCESS_STREAM,
    ALL_DERIVED,
    ALL_EVENTS,
    DERIVED_STREAM,
    EDGES,
    EVENTS_STREAM,
    edge_of,
)
from helix_memory.transport.connection import UNANSWERED, reason_of
from helix_shared.artifacts.generation.manifest import StreamState
from helix_shared.broker.streams import (
    CONSOLIDATION_ACCESS,
    CONSOLIDATION_DERIVED,
    CONSOLIDATION_LIFECYCLE,
    LEASE_STREAM,
    writer_durable,
)
from helix_shared.errors import REBUILD, RESTORE_LOG, PermanentError
from helix_shared.telemetry.logs import logger

if TYPE_CHECKING:
    from datetime import datetime

    from nats.js import JetStreamContext

    from helix_consolidation.ledger.consolidation_state import ConsolidationState
    from helix_consolidation.ledger.sequences import ProcessedSequences
    from helix_shared.artifacts.generation.manifest import Manifest

DURABLES: Final = (
    (DERIVED_STREAM, CONSOLIDATION_DERIVED),
    (EVENTS_STREAM, CONSOLIDATION_LIFECYCLE),
    (ACCESS_STREAM, CONSOLIDATION_ACCESS),
)
"""Streams that a writer reads, with the names of its consumers in the first shard."""
EVERYTHING: Final = {EVENTS_STREAM: ALL_EVENTS, DERIVED_STREAM: ALL_DERIVED}

_log = logger(__name__)


def durables_of(shard: int) -> list[tuple[str, str]]:
    """Stream and name of the durable consumers of a shard's writer."""
    return [(stream, writer_durable(name, shard)) for stream, name in DURABLES]


async def event_stream(jetstream: JetStreamContext) -> StreamState:
    """The event stream as it is now."""
    return await _stream(jetstream, EVENTS_STREAM)


async def _stream(jetstream: JetStreamContext, name: str) -> StreamState:
    info = await jetstream.stream_info(name)
    return StreamState(
        name=name,
        created_at=info.created,
        first_sequence=info.state.first_seq,
        last_sequence=info.state.last_seq,
    )


def check_stream(stream: StreamState, manifest: Manifest) -> None:
    """Compare the stream with the one that the last generation was built from.

    Raises:
        PermanentError: it was created again, or truncated.
    """
    before = manifest.stream
    if before.created_at is not None and stream.created_at != before.created_at:
        raise PermanentError(
            f"stream {stream.name} was created at {stream.created_at}, generation {manifest.generation} "
            f"was built from one of {before.created_at}; use the stream's own data folder. If the stream was "
            f"lost, {RESTORE_LOG}; otherwise {REBUILD}"
        )
    if stream.last_sequence < manifest.applied_sequence:
        raise PermanentError(
            f"stream {stream.name} ends at {stream.last_sequence}, generation {manifest.generation} "
            f"has applied {manifest.applied_sequence}; the stream was truncated: {RESTORE_LOG}"
        )


def check_epoch(epoch: int, manifest: Manifest) -> None:
    """Compare a new lease with the one of the last generation's writer.

    Raises:
        PermanentError: its epoch is not higher.
    """
    if epoch <= manifest.epoch:
        raise PermanentError(
            f"lease epoch {epoch} does not follow epoch {manifest.epoch} of generation "
            f"{manifest.generation}: the lease bucket was created again; start again after "
            f"`nats stream purge {LEASE_STREAM} --seq={manifest.epoch + 1} --force`"
        )


async def reconcile_derived_position(
    jetstream: JetStreamContext,
    state: ConsolidationState,
    *,
    shard: int = 0,
    published_at: datetime | None = None,
) -> int:
    """Correct which sequences of HELIX_DERIVED count as processed in `state`, published at `published_at`.

    All sequences of a stream that was created again are unmarked, and those that a truncated stream reuses.
    Acknowledged sequences without a message are marked. Returns the first acknowledged message that the data
    folder lacks and the stream has (0: none): the folder is an older copy, or the stream was truncated.
    `request_redelivery` gets that message.

    Raises:
        PermanentError: acknowledged messages are not in this folder.
    """
    derived = await _stream(jetstream, DERIVED_STREAM)
    state.set_derived_stream(derived.created_text)
    held = state.derived.highest
    await _unmark_reused(jetstream, state, derived, published_at)
    acknowledged = await _acknowledged(jetstream, DERIVED_STREAM, CONSOLIDATION_DERIVED, shard)
    if acknowledged > held:
        raise PermanentError(
            f"derived messages up to {acknowledged} were acknowledged, this data folder holds them up to "
            f"{state.derived.highest}; use the folder that has them, or {REBUILD}"
        )
    return await _mark_to_first_missing(jetstream, state.derived, acknowledged)


async def _unmark_reused(
    jetstream: JetStreamContext,
    state: ConsolidationState,
    derived: StreamState,
    published_at: datetime | None,
) -> None:
    """Unmark the sequences that the truncated stream will reuse, or has reused since `published_at`."""
    held, same = state.derived.highest, derived.last_sequence
    if published_at is not None:
        same = min(same, await _last_before(jetstream, derived, published_at, highest=held))
    if same < held:
        _log.warning("HELIX_DERIVED was truncated", last=same, held=held)
        state.truncate_derived(same)


async def _mark_to_first_missing(
    jetstream: JetStreamContext, processed: ProcessedSequences, acknowledged: int
) -> int:
    """Find the first sequence up to `acknowledged` that is to be delivered again; 0: there is none.

    Sequences before it whose messages are gone, or of a kind that no writer reads, are marked.
    """
    while (wanted := processed.floor + 1) <= acknowledged:
        found = await _next(jetstream, DERIVED_STREAM, wanted)
        if found is None or found[0] > acknowledged:
            processed.skip_to(acknowledged)
            break
        sequence, subject = found
        processed.skip_to(sequence - 1)
        if sequence not in processed and edge_of(subject) in EDGES:
            return sequence
        processed.mark(sequence)
    return 0


async def _last_before(
    jetstream: JetStreamContext, stream: StreamState, moment: datetime, *, highest: int
) -> int:
    """The last sequence up to `highest` whose message is not younger than `moment`.

    What is processed came before the generation that says so: a younger message has a sequence that the
    server gave a second time. A sequence without a message is as old as the next one.
    """
    low, high, first_young = max(1, stream.first_sequence), highest, highest + 1
    while low <= high:
        middle = (low + high) // 2
        try:
            found = await jetstream.get_msg(DERIVED_STREAM, seq=middle, subject=">", next=True)
        except NotFoundError:
            found = None
        if found is None or found.seq is None or found.time is None or found.seq > highest:
            high = middle - 1
        elif found.time > moment:
            first_young, high = found.seq, middle - 1
        else:
            low = found.seq + 1
    return first_young - 1


async def request_redelivery(
    jetstream: JetStreamContext, state: ConsolidationState, *, shard: int = 0
) -> None:
    """Request what the last writer held, and what an older copy of its data folder lacks.

    Lifecycle events stay in the log. Those above the floor are delivered again where some of them were
    acknowledged: what is applied already changes nothing. Without permission for a request the messages that
    were held come after their ack wait.
    """
    processed = {EVENTS_STREAM: state.applied, DERIVED_STREAM: state.derived}
    for stream, name in DURABLES:
        durable = writer_durable(name, shard)
        try:
            first = processed[stream].floor + 1 if stream in processed else 0
            again = bool(first) and await _acknowledged(jetstream, stream, name, shard) >= first
            await jetstream.reset_consumer(stream, durable, first if again else None)
        except UNANSWERED as error:
            _log.warning("consumer not reset", consumer=durable, reason=reason_of(error))


async def _acknowledged(jetstream: JetStreamContext, stream: str, name: str, shard: int) -> int:
    """Sequence up to which a consumer of a writer acknowledged everything."""
    consumer = await jetstream.consumer_info(stream, writer_durable(name, shard))
    return int(consumer.ack_floor.stream_seq) if consumer.ack_floor else 0


async def _next(jetstream: JetStreamContext, stream: str, wanted: int) -> tuple[int, str] | None:
    """Sequence and subject of the first message from a sequence on; None: there is none."""
    try:
        found = await jetstream.get_msg(stream, seq=wanted, subject=EVERYTHING[stream], next=True)
    except NotFoundError:
        return None
    return int(found.seq or wanted), found.subject or ""


async def created_at(jetstream: JetStreamContext, stream: str) -> str:
    """When a stream was created, in ISO format; empty if the server does not say."""
    return (await _stream(jetstream, stream)).created_text


async def skip_gap(jetstream: JetStreamContext, stream: str, processed: ProcessedSequences) -> bool:
    """Skip the sequences right above the floor whose messages are gone; return whether there were any."""
    wanted = processed.floor + 1
    found = await _next(jetstream, stream, wanted)
    existing = processed.highest + 1 if found is None else found[0]
    if existing <= wanted:
        return False
    processed.skip_to(existing - 1)
    return True
