"""Reads a range of a stream in order, many messages at a time: for exports, archive, backups and erasures.

`log` reads single messages. The consumer is ephemeral and acknowledges nothing. A message that is lost on the
way is noticed by the count of the consumer, and the reading ends with an error; it never leaves a gap. A
reader may pause: the server removes its consumer, and another one continues after the last message.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from typing import TYPE_CHECKING, Final

from nats.js import api
from nats.js.errors import NotFoundError

from helix_memory import subjects
from helix_memory.transport.connection import UNANSWERED, reason_of
from helix_shared.broker.pull_reader import PullReader
from helix_shared.broker.stored_at import IMPORT_HEADERS, check_times, stored_at
from helix_shared.errors import TemporaryError
from helix_shared.event_log.record import EventRecord, kept_headers

if TYPE_CHECKING:
    from datetime import datetime

    from nats.aio.client import Client
    from nats.aio.msg import Msg

BATCH: Final = 256
FETCH_SECONDS: Final = 5.0
IDLE_SECONDS: Final = 60.0
"""The server removes the consumer of a reader that has gone."""


async def read_range(
    client: Client,
    stream: str,
    filters: Sequence[str],
    *,
    after: int = 0,
    since: datetime | None = None,
    until: int,
    headers_only: bool = False,
) -> AsyncIterator[list[EventRecord]]:
    """The messages on `filters` with sequences above `after`, up to `until`, in order.

    With `since` instead of `after`, those that the server took from that moment on.
    With `headers_only` the bodies are empty, and `stored_at` is the time of this server.

    Raises:
        TemporaryError: NATS does not answer, there is no such stream, or a message was lost on the way.
    """
    reading = read_messages(client, stream, filters, after=after, since=since, headers_only=headers_only)
    try:
        async with contextlib.aclosing(reading) as batches:
            async for messages in batches:
                if not headers_only:
                    await check_times(client, messages)
                found = [_record(message) for message in messages]
                within = [record for record in found if record.sequence <= until]
                if within:
                    yield within
                if len(within) < len(found):
                    return
    except NotFoundError as error:
        raise TemporaryError(f"there is no stream {stream}; run `helix provision`") from error


async def read_messages(
    client: Client,
    stream: str,
    filters: Sequence[str],
    *,
    after: int = 0,
    since: datetime | None = None,
    headers_only: bool = False,
) -> AsyncGenerator[list[Msg], None]:
    """All messages that a stream has on `filters` above `after`, or since then, in order; never a part.

    Raises:
        nats.js.errors.NotFoundError: there is no such stream.
        TemporaryError: NATS does not answer, or a message was lost on the way.
    """
    fruitless = 0
    while True:
        config = api.ConsumerConfig(
            ack_policy=api.AckPolicy.NONE,
            deliver_policy=api.DeliverPolicy.BY_START_TIME if since else api.DeliverPolicy.BY_START_SEQUENCE,
            opt_start_seq=None if since else after + 1,
            opt_start_time=since,
            filter_subjects=list(filters),
            inactive_threshold=IDLE_SECONDS,
            mem_storage=True,
            num_replicas=1,
            headers_only=headers_only or None,
        )
        try:
            async with contextlib.aclosing(_delivered(client, stream, config)) as batches:
                async for messages in batches:
                    after, since, fruitless = messages[-1].metadata.sequence.stream, None, 0
                    yield messages
        except NotFoundError:
            raise
        except UNANSWERED as error:
            # the consumer lives shorter than a pause of the caller, and waits in vain for messages that were
            # removed since it was made: another one reads on, and has only those that are there
            fruitless += 1
            if fruitless > 1:
                raise TemporaryError(f"stream {stream} does not answer: {reason_of(error)}") from error
        else:
            return


async def _delivered(
    client: Client, stream: str, config: api.ConsumerConfig
) -> AsyncGenerator[list[Msg], None]:
    """Every message that a new consumer has when it is made, in batches.

    Raises:
        TemporaryError: a message was lost on the way.
        nats.errors.Error, TimeoutError: the server does not answer, or consumer or messages have gone.
    """
    delivered = 0
    async with consumer_of(client, stream, config) as (reading, waiting):
        left = waiting
        while left:
            messages = await reading.fetch(min(BATCH, left), timeout_seconds=FETCH_SECONDS)
            for message in messages:
                delivered += 1
                if message.metadata.sequence.consumer != delivered:
                    raise TemporaryError(f"a message of {stream} was lost on the way; try again")
            left = messages[-1].metadata.num_pending
            yield messages


@contextlib.asynccontextmanager
async def consumer_of(
    client: Client, stream: str, config: api.ConsumerConfig
) -> AsyncIterator[tuple[PullReader, int]]:
    """A consumer that is removed afterwards, and how many messages it has.

    The server names it. The user of the writer may make no other: with a name it could change a durable one.

    Raises:
        nats.errors.Error: the server does not answer, or there is no such stream.
    """
    jetstream = client.jetstream()
    made = await jetstream.add_consumer(stream, config)
    reading = await PullReader.open(client, stream=stream, consumer=made.name)
    try:
        yield reading, made.num_pending or 0
    finally:
        with contextlib.suppress(*UNANSWERED):
            await reading.unsubscribe()
            await jetstream.delete_consumer(stream, made.name)


def _record(message: Msg) -> EventRecord:
    headers = message.headers or {}
    return EventRecord(
        sequence=message.metadata.sequence.stream,
        subject=message.subject,
        stored_at=stored_at(message),
        body=message.data,
        message_id=headers.get(subjects.MSG_ID_HEADER, ""),
        headers=kept_headers(headers, without=IMPORT_HEADERS),
    )
