"""The consumer: one event in, exactly one `memories` message out, even an empty one.

The empty answer of a refused or silent event is what lets the writer say "everything up to
sequence n is in". Earlier turns are the log's (`turns`), so any number of copies may run.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

from faststream.nats import NatsBroker
from nats.aio.msg import Msg
from pydantic import ValidationError

from helix import events, subjects
from helix_ingest.answers import Answers
from helix_ingest.draft import Logged
from helix_ingest.settings import IngestSettings
from helix_ingest.turns import Turns
from helix_shared.broker import streams
from helix_shared.broker.worker import Connected, Durable, subscribe
from helix_shared.errors import InvalidInputError, PermanentError

SERVICE: Final = "ingest"


@dataclass(frozen=True, slots=True)
class Ingest:
    """The worker's collaborators."""

    answers: Answers
    turns: Turns
    lanes: ThreadPoolExecutor
    """Where events are answered: one thread for each that may embed at once."""

    async def handle(self, message: Msg, connected: Connected) -> None:
        """Answer one event.

        Raises:
            PermanentError: the event breaks a rule; the reason names the field.
            TemporaryError: NATS does not answer.
        """
        self.turns.note(message)
        logged = read_event(message)
        if logged.event.kind in events.LIFECYCLE_KINDS:
            return  # consolidation reads these itself
        before = await self.turns.before(logged, connected.client)
        loop = asyncio.get_running_loop()
        answer = await loop.run_in_executor(self.lanes, self.answers.of, logged, before)
        await answer.publish(connected.publisher)

    async def bury(self, message: Msg, connected: Connected) -> None:
        """The empty answer of an event that is dead-lettered: its sequence must not stay open."""
        address = subjects.parse_event_subject(message.subject)
        if address is not None and address.kind in events.LIFECYCLE_KINDS:
            return
        sequence = message.metadata.sequence.stream
        tenant = address.tenant_id if address else subjects.UNKNOWN_TENANT
        kind = address.kind if address else "unknown"
        await self.answers.empty(tenant, kind, sequence).publish(connected.publisher)


def read_event(message: Msg) -> Logged:
    """The event in a delivered message, checked against its own subject.

    Raises:
        InvalidInputError: malformed subject or body, or the two disagree.
    """
    address = subjects.parse_event_subject(message.subject)
    if address is None:
        raise InvalidInputError(
            "subject",
            f"not {subjects.ROOT}.events.<tenant>.<session>.<kind> with tokens of A-Z a-z 0-9 _ -, 1 to 64",
        )
    if address.kind not in events.EVENT_MODELS:
        raise InvalidInputError(
            "kind", f"unknown kind {address.kind}; known: {', '.join(events.EVENT_MODELS)}"
        )
    try:
        event = events.parse_event(message.data)
    except ValidationError as error:
        raise PermanentError(events.explain(error)) from error
    for field, said in (
        ("tenant_id", address.tenant_id),
        ("session_id", address.session_id),
        ("kind", address.kind),
    ):
        if getattr(event, field) != said:
            raise InvalidInputError(
                field, f"the body differs from the subject, which says {said or subjects.NO_SESSION}"
            )
    return Logged(event, message.metadata.sequence.stream, message.metadata.timestamp)


def wire(broker: NatsBroker, ingest: Ingest, settings: IngestSettings) -> Durable:
    """Bind the worker to its durable consumer."""
    return subscribe(
        broker,
        stream=subjects.EVENTS_STREAM,
        durable=streams.INGEST,
        subject=f"{subjects.ROOT}.events.>",
        service=SERVICE,
        handle=ingest.handle,
        bury=ingest.bury,
        ack_wait_seconds=settings.ack_wait_seconds,
        publish_timeout_seconds=settings.publish_timeout_seconds,
        batch_messages=settings.batch_size,
    )
