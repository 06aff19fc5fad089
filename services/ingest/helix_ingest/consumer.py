"""The consumer: one event in, exactly one `memories` message out, even an empty one.

The empty answer of a refused or silent event is what lets the writer say "everything up to
sequence n is in". Earlier turns are the log's (`turns`), so any number of copies may run.
"""

from __future__ import annotations

import asyncio
import functools
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

from faststream.nats import NatsBroker
from nats.aio.msg import Msg
from pydantic import ValidationError

from helix import events, subjects
from helix.events import DocumentEvent
from helix_ingest.draft import Draft, Logged
from helix_ingest.drafts import drafts_of
from helix_ingest.embed import embed
from helix_ingest.rows import rows_of
from helix_ingest.settings import IngestSettings
from helix_ingest.turns import Turns, stored_at
from helix_shared import edges
from helix_shared.broker import streams
from helix_shared.broker.derived import DerivedMessage
from helix_shared.broker.worker import Connected, Durable, subscribe
from helix_shared.encoders.encoder import Encoder
from helix_shared.errors import InvalidInputError, PermanentError

SERVICE: Final = "ingest"
EDGE: Final = "memories"
VERSION: Final = "1"
"""Part of the de-duplication id: raise it when the same event should make other memories."""


@dataclass(frozen=True, slots=True)
class Ingest:
    """The worker's collaborators and limits."""

    encoder: Encoder
    most_tokens: int
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
        answer = await loop.run_in_executor(self.lanes, self.answer, logged, before)
        await answer.publish(connected.publisher)

    async def bury(self, message: Msg, connected: Connected) -> None:
        """The empty answer of an event that is dead-lettered: its sequence must not stay open."""
        address = subjects.parse_event_subject(message.subject)
        if address is not None and address.kind in events.LIFECYCLE_KINDS:
            return
        sequence = message.metadata.sequence.stream
        tenant = address.tenant_id if address else subjects.UNKNOWN_TENANT
        kind = address.kind if address else "unknown"
        origin = edges.Origin(EDGE, tenant, "", kind, sequence, model=self.encoder.card.id)
        await self._message(origin, []).publish(connected.publisher)

    def answer(self, logged: Logged, before: list[Logged]) -> DerivedMessage:
        """The memories message of an event; `before` are earlier turns of its session, oldest first.

        Runs in a lane: embedding releases the GIL.
        """
        event = logged.event
        document = event.document_id if isinstance(event, DocumentEvent) else ""
        origin = edges.Origin(
            EDGE, event.tenant_id, event.event_id, event.kind, logged.sequence, document, self.encoder.card.id
        )
        return self._message(origin, self._rows(logged, before))

    def _rows(self, logged: Logged, before: list[Logged]) -> list[dict[str, Any]]:
        count = functools.cache(self.encoder.count_tokens)
        drafts: list[Draft] = drafts_of(logged, before, most_tokens=self.most_tokens, count_tokens=count)
        if not drafts:
            return []
        tokens = [count(draft.text) for draft in drafts]
        return rows_of(drafts, embed(drafts, self.encoder), tokens, model=self.encoder.card.id)

    def _message(self, origin: edges.Origin, rows: list[dict[str, Any]]) -> DerivedMessage:
        return DerivedMessage.of(
            origin, rows, edges.memories_schema(self.encoder.card.dimensions), version=VERSION
        )


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
    return Logged(event, message.metadata.sequence.stream, stored_at(message.metadata.timestamp))


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
