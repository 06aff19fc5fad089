"""The consumer: one event in, exactly one `memories` message out, even an empty one.

The empty answer of a refused or silent event is what lets the writer say "everything up to
sequence n is in". Earlier turns are the log's (`turns`), so any number of copies may run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from faststream.nats import NatsBroker
from nats.aio.msg import Msg

from helix_ingest.extraction.draft import Logged
from helix_ingest.memories_message import EDGE, Answers
from helix_ingest.session_turns import SessionTurns
from helix_ingest.settings import IngestSettings
from helix_memory import events, subjects
from helix_shared.broker import log, streams
from helix_shared.broker.worker.derived import DerivedMessage
from helix_shared.broker.worker.lanes import Lanes
from helix_shared.broker.worker.rederive import asked_sequence
from helix_shared.broker.worker.worker import Connected, Durable, subscribe
from helix_shared.errors import IncompatibleError, PermanentError, TemporaryError
from helix_shared.published import published_event

SERVICE: Final = "ingest"


@dataclass(frozen=True, slots=True)
class Ingest:
    """The worker's collaborators."""

    answers: Answers
    turns: SessionTurns
    lanes: Lanes
    """Where events are answered: one thread for each that may embed at once."""

    async def handle(self, message: Msg, connected: Connected) -> None:
        """Answer one event.

        Raises:
            PermanentError: the event breaks a rule; the reason names the field.
            TemporaryError: NATS does not answer.
        """
        self.turns.note(message)
        if subjects.kind_of(message.subject) in events.LIFECYCLE_KINDS:
            return  # consolidation reads these itself, and refuses what is wrong with them
        logged = read_event(message)
        before = await self.turns.before(logged, connected.client)
        answer = await connected.lanes.run(self.answers.of, logged, before)
        await answer.publish(connected.publisher)

    async def asked(self, request: Msg, connected: Connected) -> bytes:
        """Answer an event of the log once more, as it would be answered now.

        Raises:
            IncompatibleError: the answer is wanted of another model than this one.
            TemporaryError: NATS does not answer.
        """
        wanted, model = (request.headers or {}).get(subjects.MODEL_HEADER, ""), self.answers.encoder.card.id
        if wanted and wanted != model:
            raise IncompatibleError(f"ingest has model {model}")
        sequence = asked_sequence(request)
        found = await log.message_at(connected.client, subjects.EVENTS_STREAM, sequence)
        if found is None:
            raise TemporaryError(f"event {sequence} is not in the log any more")
        try:
            event = published_event(found.subject, found.body)
            logged = Logged(event, sequence, found.stored_at)
            before = await self.turns.before(logged, connected.client)
            return (await connected.lanes.run(self.answers.of, logged, before)).body
        except PermanentError:
            return self._empty(found.subject, sequence).body

    async def bury(self, message: Msg, connected: Connected) -> None:
        """The empty answer of an event that is dead-lettered: its sequence must not stay open."""
        await self._empty(message.subject, message.metadata.sequence.stream).publish(connected.publisher)

    def _empty(self, subject: str, sequence: int) -> DerivedMessage:
        address = subjects.parse_event_subject(subject)
        tenant = address.tenant_id if address else subjects.UNKNOWN_TENANT
        kind = address.kind if address else "unknown"
        return self.answers.empty(tenant, kind, sequence)


def read_event(message: Msg) -> Logged:
    """The event in a delivered message, checked against its own subject.

    Raises:
        InvalidInputError: malformed subject or body, or the two disagree.
    """
    position = message.metadata
    event = published_event(message.subject, message.data)
    return Logged(event, position.sequence.stream, position.timestamp)


def wire(broker: NatsBroker, ingest: Ingest, settings: IngestSettings) -> Durable:
    """Bind the worker to its durable consumer."""
    return subscribe(
        broker,
        stream=subjects.EVENTS_STREAM,
        durable=streams.INGEST,
        subject=f"{subjects.ROOT}.events.>",
        service=SERVICE,
        handle=ingest.handle,
        lanes=ingest.lanes,
        bury=ingest.bury,
        edge=EDGE,
        asked=ingest.asked,
        deadline_seconds=settings.deadline_seconds,
        ack_wait_seconds=settings.ack_wait_seconds,
        publish_timeout_seconds=settings.publish_timeout_seconds,
        batch_messages=settings.batch_size,
    )
