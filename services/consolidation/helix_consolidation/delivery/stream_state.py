"""State of the streams: their ends, whether they match the last generation, which messages are gone.

In a stream that was truncated or created again, new events reuse sequences that count as applied. A data
folder that is older than the acknowledgements lacks messages that are never delivered again. Both are
detected at the start, before anything is applied.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from nats.js.errors import NotFoundError

from helix_memory.subjects import DERIVED_STREAM, EVENTS_STREAM, ROOT
from helix_shared.artifacts.generation.manifest import StreamState
from helix_shared.broker.streams import CONSOLIDATION_DERIVED, LEASE_STREAM, writer_durable
from helix_shared.errors import REBUILD, PermanentError

if TYPE_CHECKING:
    from nats.js import JetStreamContext

    from helix_consolidation.ledger.consolidation_state import ConsolidationState
    from helix_consolidation.ledger.sequences import ProcessedSequences
    from helix_shared.artifacts.generation.manifest import Manifest

EVERYTHING: Final = {EVENTS_STREAM: f"{ROOT}.events.>", DERIVED_STREAM: f"{ROOT}.derived.>"}


async def event_stream(jetstream: JetStreamContext) -> StreamState:
    """The event stream as it is now."""
    info = await jetstream.stream_info(EVENTS_STREAM)
    return StreamState(
        name=EVENTS_STREAM,
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
            f"was built from one of {before.created_at}; use the stream's own data folder, or {REBUILD}"
        )
    if stream.last_sequence < manifest.applied_sequence:
        raise PermanentError(
            f"stream {stream.name} ends at {stream.last_sequence}, generation {manifest.generation} "
            f"has applied {manifest.applied_sequence}; the stream was truncated: restore it, or {REBUILD}"
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


async def check_acknowledged(
    jetstream: JetStreamContext, state: ConsolidationState, *, shard: int = 0
) -> None:
    """Compare the acknowledgements with what this data folder holds, and mark them as processed.

    Raises:
        PermanentError: acknowledged messages are not in this folder.
    """
    state.set_derived_stream(await created_at(jetstream, DERIVED_STREAM))
    consumer = await jetstream.consumer_info(DERIVED_STREAM, writer_durable(CONSOLIDATION_DERIVED, shard))
    acknowledged = consumer.ack_floor.stream_seq if consumer.ack_floor else 0
    if acknowledged > state.derived.highest:
        raise PermanentError(
            f"derived messages up to {acknowledged} were acknowledged, this data folder holds them up to "
            f"{state.derived.highest}; use the folder that has them, or {REBUILD}"
        )
    state.derived.skip_to(acknowledged)


async def created_at(jetstream: JetStreamContext, stream: str) -> str:
    """When a stream was created, in ISO format; empty if the server does not say."""
    info = await jetstream.stream_info(stream)
    return "" if info.created is None else info.created.isoformat()


async def skip_gap(jetstream: JetStreamContext, stream: str, processed: ProcessedSequences) -> bool:
    """Skip the sequences right above the floor whose messages are gone; return whether there were any."""
    wanted = processed.floor + 1
    try:
        found = await jetstream.get_msg(stream, seq=wanted, subject=EVERYTHING[stream], next=True)
        existing = int(found.seq or wanted)
    except NotFoundError:
        existing = processed.highest + 1
    if existing <= wanted:
        return False
    processed.skip_to(existing - 1)
    return True
