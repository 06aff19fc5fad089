"""The consumer: for each event exactly one `memories` message, which may be empty.

Consolidation counts on one message per event: from them it knows up to which sequence all events are
processed. Earlier turns come from the log (`session_turns`), so any number of copies may run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from nats.aio.msg import Msg

from helix_ingest.extraction.values import LoggedEvent
from helix_ingest.memories_builder import EDGE, MemoriesBuilder
from helix_ingest.session_turns import SessionTurns
from helix_ingest.settings import IngestSettings
from helix_memory import events, subjects
from helix_shared.broker import log, streams
from helix_shared.broker.stored_at import stored_at
from helix_shared.broker.worker.derived import DerivedMessage
from helix_shared.broker.worker.lanes import Lanes
from helix_shared.broker.worker.rederive import Rederived, is_redrive, requested_sequence
from helix_shared.broker.worker.worker import Connected, Durable, subscribe
from helix_shared.errors import IncompatibleError, PermanentError, TemporaryError
from helix_shared.published import published_event

if TYPE_CHECKING:
    from faststream.nats import NatsBroker

SERVICE: Final = "ingest"


@dataclass(frozen=True, slots=True)
class Ingest:
    """The worker's collaborators."""

    builder: MemoriesBuilder
    turns: SessionTurns
    lanes: Lanes
    """Threads in which messages are built, one for each text that is embedded at once."""

    async def handle(self, message: Msg, connected: Connected) -> None:
        """Publish the memories of one event.

        Raises:
            PermanentError: the event breaks a rule; the reason names the field.
            TemporaryError: NATS does not answer.
        """
        logged = self.observe(message)
        if logged is not None:
            await (await self._build(logged, connected)).publish(connected.publisher)

    def observe(self, message: Msg) -> LoggedEvent | None:
        """Parse a delivered message and report it to `turns`; None for a kind that consolidation reads.

        Must be called in the order of delivery, before the first await.

        Raises:
            PermanentError: the event breaks a rule; the reason names the field.
        """
        logged = None
        try:
            if subjects.kind_of(message.subject) not in events.LIFECYCLE_KINDS:
                event = published_event(message.subject, message.data)
                logged = LoggedEvent(event, message.metadata.sequence.stream, stored_at(message))
        finally:
            self.turns.observe(message, logged)
        return logged

    async def rederive(self, request: Msg, connected: Connected) -> Rederived:
        """Build the message of an event in the log again; it is empty if the event is refused.

        Raises:
            PermanentError: the event is refused, and the request is that of a redrive.
            IncompatibleError: the request names another model than this worker's.
            TemporaryError: NATS does not answer.
        """
        requested, model = (
            (request.headers or {}).get(subjects.MODEL_HEADER, ""),
            self.builder.encoder.card.id,
        )
        if requested and requested != model:
            raise IncompatibleError(f"ingest has model {model}")
        sequence = requested_sequence(request)
        found = await log.message_at(connected.client, subjects.EVENTS_STREAM, sequence)
        if found is None:
            raise TemporaryError(f"event {sequence} is no longer in the log")
        try:
            event = published_event(found.subject, found.body)
            return (await self._build(LoggedEvent(event, sequence, found.stored_at), connected)).rederived
        except PermanentError:
            if is_redrive(request):
                raise
            return self._empty(found.subject, sequence).rederived

    async def on_dead_letter(self, message: Msg, connected: Connected) -> None:
        """Publish the empty message of an event that becomes a dead letter."""
        await self._empty(message.subject, message.metadata.sequence.stream).publish(connected.publisher)

    async def _build(self, logged: LoggedEvent, connected: Connected) -> DerivedMessage:
        earlier = await self.turns.before(logged, connected.client)
        return await connected.lanes.run(self.builder.build, logged, earlier)

    def _empty(self, subject: str, sequence: int) -> DerivedMessage:
        address = subjects.parse_event_subject(subject)
        tenant = address.tenant_id if address else subjects.UNKNOWN_TENANT
        kind = address.kind if address else "unknown"
        return self.builder.build_empty(tenant, kind, sequence)


def wire(broker: NatsBroker, ingest: Ingest, settings: IngestSettings) -> Durable:
    """Bind the worker to its durable consumer."""
    return subscribe(
        broker,
        stream=subjects.EVENTS_STREAM,
        durable=streams.INGEST,
        subject=subjects.ALL_EVENTS,
        service=SERVICE,
        handle=ingest.handle,
        lanes=ingest.lanes,
        on_dead_letter=ingest.on_dead_letter,
        edge=EDGE,
        rederive=ingest.rederive,
        deadline_seconds=settings.deadline_seconds,
        ack_wait_seconds=settings.ack_wait_seconds,
        publish_timeout_seconds=settings.publish_timeout_seconds,
        batch_messages=settings.batch_size,
    )
