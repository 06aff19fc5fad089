"""Publishes messages and repeats them with the same id until the stream acknowledges them.

Repeating is safe: the stream drops a second message with the same id within an hour, and all derived ids
follow from the event id. `duplicate` therefore counts as success. Several messages are published as one
atomic batch (`batch`) if the stream accepts it.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Protocol

from nats.errors import ConnectionClosedError, NoRespondersError
from nats.js import JetStreamContext
from nats.js.errors import APIError, NoStreamResponseError

from helix_memory import limits, subjects, trace_context
from helix_memory.errors import (
    InvalidInputError,
    OverloadedError,
    PermanentError,
    TemporaryError,
)
from helix_memory.transport.batch import Outgoing, publish_batch
from helix_memory.transport.connection import UNANSWERED

if TYPE_CHECKING:
    from nats.aio.client import Client

    from helix_memory.events import Event

ATTEMPTS: Final = 8
FIRST_DELAY_SECONDS: Final = 0.05
LONGEST_DELAY_SECONDS: Final = 2.0
HEADER_ALLOWANCE_BYTES: Final = 1_024
FIRST_ONLY: Final = {"Nats-Expected-Last-Subject-Sequence": "0"}
"""Headers with which the stream refuses a second message on a subject."""

_MESSAGE_TOO_LARGE: Final = 10054
_STREAM_FULL: Final = 10077
_IN_PROCESS: Final = 10158
"""The same message was sent before, and the replicas of the stream have not agreed on it yet."""
_SERVICE_UNAVAILABLE: Final = 503


@dataclass(frozen=True, slots=True)
class PubAck:
    """The acknowledgement of the stream; `sequence` is the message's position in it."""

    sequence: int
    duplicate: bool


class Publishes(Protocol):
    """The part of a publisher that handlers use."""

    async def publish(
        self, subject: str, body: bytes, *, message_id: str, headers: Mapping[str, str] | None = None
    ) -> PubAck:
        """Publish a message and wait for the acknowledgement."""


class Publisher:
    """Publishes events and derived messages; calls may run concurrently."""

    def __init__(
        self,
        jetstream: JetStreamContext,
        *,
        timeout_seconds: float = 5.0,
        only_tenant: str = "",
        id_secret: str = "",
    ) -> None:
        """`only_tenant`: the one whose events the user of the connection may publish; empty: any.

        The server would drop the others without a reply. `id_secret`: with it the ids of events are such that
        nobody else can publish them first (`subjects.bound_message_id`).
        """
        self._id_secret = id_secret
        self._jetstream = jetstream
        self._only_tenant = only_tenant
        self._timeout_seconds = timeout_seconds

    async def publish_together(self, client: Client, messages: Sequence[Outgoing]) -> list[PubAck] | None:
        """Publish `messages`, one batch of `batch.split`, as an atomic batch.

        None if they must be published one by one, for example because one of them is already stored.
        """
        own = subjects.events_of_tenant(self._only_tenant)
        if self._only_tenant and not all(subjects.is_within(message.subject, own) for message in messages):
            return None
        if self._id_secret:
            messages = [replace(one, message_id=self._bound(one.message_id)) for one in messages]
        sequences = await publish_batch(client, messages, timeout_seconds=self._timeout_seconds)
        return None if sequences is None else [PubAck(number, duplicate=False) for number in sequences]

    async def publish_event(self, event: Event) -> PubAck:
        """Publish one event.

        Raises:
            InvalidInputError: the event is larger than `limits.EVENT_BYTES`, or of another tenant.
            OverloadedError: the stream is full.
            TemporaryError: no acknowledgement after the last attempt.
        """
        if self._only_tenant not in ("", event.tenant_id):
            raise InvalidInputError("tenant_id", f"this user of NATS publishes for {self._only_tenant} alone")
        message = event_message(event)
        return await self.publish(
            message.subject,
            message.body,
            message_id=self._bound(message.message_id),
            headers=message.headers,
        )

    def _bound(self, message_id: str) -> str:
        return subjects.bound_message_id(message_id, self._id_secret) if self._id_secret else message_id

    async def publish(
        self, subject: str, body: bytes, *, message_id: str, headers: Mapping[str, str] | None = None
    ) -> PubAck:
        """Publish `body` until the stream acknowledges it, at most `ATTEMPTS` times.

        Raises: as `publish_event`.
        """
        stamped = {**(headers or {}), subjects.MSG_ID_HEADER: message_id}
        delay = FIRST_DELAY_SECONDS
        for attempt in range(1, ATTEMPTS + 1):
            try:
                ack = await self._jetstream.publish(
                    subject, body, timeout=self._timeout_seconds, headers=stamped
                )
                return PubAck(ack.seq, bool(ack.duplicate))
            except UNANSWERED as error:
                _raise_unless_temporary(error, subject)
                if attempt == ATTEMPTS:
                    raise TemporaryError(
                        f"no acknowledgement for {subject} after {attempt} attempts"
                    ) from error
            await asyncio.sleep(delay * random.uniform(0.8, 1.2))  # noqa: S311  jitter, not a secret
            delay = min(LONGEST_DELAY_SECONDS, delay * 2)
        raise AssertionError("unreachable: the loop returns or raises")


def event_message(event: Event) -> Outgoing:
    """The message that publishes an event, in the trace of the caller.

    Raises:
        InvalidInputError: the event is larger than `limits.EVENT_BYTES`.
    """
    from helix_memory import events  # noqa: PLC0415  most workers publish no events

    body = events.encode_event(event)
    most = limits.EVENT_BYTES - HEADER_ALLOWANCE_BYTES
    if len(body) > most:
        raise InvalidInputError("event", f"{len(body)} bytes of JSON; at most {most} bytes, split the text")
    message_id = subjects.message_id(event.tenant_id, event.event_id)
    return Outgoing(events.subject_of(event), body, message_id, trace_context.carried())


def _raise_unless_temporary(error: Exception, subject: str) -> None:
    if isinstance(error, ConnectionClosedError):
        raise TemporaryError(f"connection is closed while publishing to {subject}; reconnect") from error
    if isinstance(error, NoStreamResponseError | NoRespondersError) or not isinstance(error, APIError):
        return
    if error.err_code == _MESSAGE_TOO_LARGE:
        raise InvalidInputError("event", f"larger than the stream accepts: {limits.EVENT_BYTES} bytes")
    if error.err_code == _STREAM_FULL:
        raise OverloadedError(
            f"stream behind {subject} is full; free space or raise its max_bytes"
        ) from error
    if error.err_code != _IN_PROCESS and error.code != _SERVICE_UNAVAILABLE:
        raise PermanentError(f"stream refused a message on {subject}: {error.description}") from error
