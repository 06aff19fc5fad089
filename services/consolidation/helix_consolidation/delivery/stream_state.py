"""State of the streams: their ends, whether they match the last generation, which messages are gone.

In a stream that was truncated or created again, new events reuse sequences that count as applied. A data
folder that is older than the acknowledgements lacks messages that are never delivered again. Both are
detected at the start, before anything is applied; what is still in a stream is delivered again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from nats.js.errors import NotFoundError

from helix_memory.subjects import ACCESS_STREAM, DERIVED_STREAM, EDGES, EVENTS_STREAM, ROOT
from helix_memory.transport.connection import UNANSWERED, server_id
from helix_shared.artifacts.generation.manifest import StreamState
from helix_shared.broker.streams import (
    CONSOLIDATION_ACCESS,
    CONSOLIDATION_DERIVED,
    CONSOLIDATION_LIFECYCLE,
    LEASE_STREAM,
    writer_durable,
)
from helix_shared.errors import REBUILD, RESTORE_LOG, PermanentError, TemporaryError
from helix_shared.telemetry.logs import logger

if TYPE_CHECKING:
    from datetime import datetime

    from nats.aio.client import Client
    from nats.js import JetStreamContext

    from helix_consolidation.archiving.event_archive import EventArchive
    from helix_consolidation.ledger.consolidation_state import ConsolidationState
    from helix_consolidation.ledger.sequences import ProcessedSequences
    from helix_shared.artifacts.generation.manifest import Manifest

DURABLES: Final = (
    (DERIVED_STREAM, CONSOLIDATION_DERIVED),
    (EVENTS_STREAM, CONSOLIDATION_LIFECYCLE),
    (ACCESS_STREAM, CONSOLIDATION_ACCESS),
)
"""Streams that a writer reads, with the names of its consumers in the first shard."""
EVERYTHING: Final = {EVENTS_STREAM: f"{ROOT}.events.>", DERIVED_STREAM: f"{ROOT}.derived.>"}

_log = logger(__name__)


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


class FollowedLog:
    """The log as a writer follows it: it grows, and the archive has all of it before anything is applied.

    A server that starts again with a damaged file drops what is behind it, and gives the sequences a second
    time. So the writer begins again with every other server, and compares before it applies anything.
    """

    def __init__(self, client: Client, log: StreamState, archive: EventArchive | None) -> None:
        self._client, self._log, self._archive = client, log, archive
        self._server = server_id(client)

    @property
    def last_sequence(self) -> int:
        """Its end, as far as it was followed."""
        return self._log.last_sequence

    async def now(self) -> StreamState | None:
        """The log as it is; None where NATS does not answer.

        Raises:
            TemporaryError: it lost events, or may have: the writer begins again, and compares.
        """
        try:
            log = await event_stream(self._client.jetstream())
        except UNANSWERED as error:
            _warn(error)
            return None
        before = self._log
        if server_id(self._client) != self._server:
            raise TemporaryError("another NATS server answers")
        if log.created_at != before.created_at or log.last_sequence < before.last_sequence:
            raise TemporaryError(
                f"{log.name} of {log.created_at} ends at {log.last_sequence}, that of {before.created_at} "
                f"ended at {before.last_sequence}"
            )
        self._log = log
        return log

    async def archive(self) -> bool:
        """Whether the archive holds everything up to the end of the log; False: not now.

        Raises:
            TemporaryError: as `now`.
            PermanentError: the log has other events than the archive.
        """
        log = await self.now()
        try:
            if log is not None and self._archive is not None:
                await self._archive.catch_up(log.last_sequence)
        except (*UNANSWERED, TemporaryError) as error:
            _warn(error)
            return False
        return log is not None


def _warn(error: Exception) -> None:
    _log.warning("not applied yet", reason=str(error) or type(error).__name__)


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


async def check_acknowledged(
    jetstream: JetStreamContext,
    state: ConsolidationState,
    *,
    shard: int = 0,
    published_at: datetime | None = None,
) -> int:
    """Compare the acknowledgements of HELIX_DERIVED with what this data folder holds since `published_at`.

    Acknowledged sequences without a message are marked as processed, and those that a truncated stream gives
    again are not. Returns the first acknowledged message that this folder, which is an older copy or of
    before the truncation, lacks and the stream has (0: none): `request_redelivery` gets it.

    Raises:
        PermanentError: acknowledged messages are not in this folder.
    """
    derived = await _stream(jetstream, DERIVED_STREAM)
    state.set_derived_stream(_text(derived))
    held, same = state.derived.highest, derived.last_sequence
    if published_at is not None:
        same = min(same, await _last_before(jetstream, derived, published_at, highest=held))
    if same < held:
        _log.warning("HELIX_DERIVED was truncated", last=same, held=held)
        state.truncate_derived(same)
    acknowledged = await _acknowledged(jetstream, DERIVED_STREAM, CONSOLIDATION_DERIVED, shard)
    if acknowledged > held:
        raise PermanentError(
            f"derived messages up to {acknowledged} were acknowledged, this data folder holds them up to "
            f"{state.derived.highest}; use the folder that has them, or {REBUILD}"
        )
    while (wanted := state.derived.floor + 1) <= acknowledged:
        found = await _next(jetstream, DERIVED_STREAM, wanted)
        if found is None or found[0] > acknowledged:
            state.derived.skip_to(acknowledged)
            break
        sequence, subject = found
        state.derived.skip_to(sequence - 1)
        if sequence not in state.derived and subject.split(".")[3] in EDGES:
            return sequence
        state.derived.mark(sequence)
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
            _log.warning("consumer not reset", consumer=durable, reason=str(error) or type(error).__name__)


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
    return _text(await _stream(jetstream, stream))


def _text(stream: StreamState) -> str:
    return "" if stream.created_at is None else stream.created_at.isoformat()


async def skip_gap(jetstream: JetStreamContext, stream: str, processed: ProcessedSequences) -> bool:
    """Skip the sequences right above the floor whose messages are gone; return whether there were any."""
    wanted = processed.floor + 1
    found = await _next(jetstream, stream, wanted)
    existing = processed.highest + 1 if found is None else found[0]
    if existing <= wanted:
        return False
    processed.skip_to(existing - 1)
    return True
