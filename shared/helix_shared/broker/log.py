"""Reads messages back from a stream: by sequence, or the next one on a subject before or after a sequence.

Workers have no state: they read earlier turns of a session from the stream. A direct get of JetStream takes
less than a millisecond. It always gives the same message, so a rebuild from the log sees the same context.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError

from helix_memory.subjects import STORED_AT_HEADER
from helix_shared.broker.stored_at import checked_time, is_sealed
from helix_shared.errors import TemporaryError

READ_SECONDS: Final = 5.0
BATCH_BYTES: Final = 16 * 1024 * 1024
"""Bodies of one batch; the client would drop messages above 128 MiB."""
_DIRECT_GET: Final = "$JS.API.DIRECT.GET.{}"
_NOT_FOUND: Final = "404"
_END_OF_BATCH: Final = "204"
_NANOSECONDS: Final = 1e9


@dataclass(frozen=True, slots=True)
class LoggedMessage:
    """One message of a stream; `stored_at` is when it was first stored (`stored_at`)."""

    subject: str
    sequence: int
    stored_at: datetime
    body: bytes


async def message_at(client: Client, stream: str, sequence: int) -> LoggedMessage | None:
    """The message with a sequence, or None if the stream no longer has it.

    Raises:
        TemporaryError: the server does not answer.
    """
    return await _direct(client, stream, {"seq": sequence})


async def last_before(client: Client, stream: str, subject: str, sequence: int) -> LoggedMessage | None:
    """The last message on `subject` with a sequence below `sequence`, or None.

    Raises:
        TemporaryError: the server does not answer.
    """
    if sequence <= 1:
        return None
    # the stream sends a second message that ends the batch; the client drops it
    return await _direct(client, stream, {"multi_last": [subject], "up_to_seq": sequence - 1})


async def first_after(client: Client, stream: str, subject: str, sequence: int) -> LoggedMessage | None:
    """The first message on `subject` with a sequence above `sequence`, or None.

    Raises:
        TemporaryError: the server does not answer.
    """
    return await _direct(client, stream, {"seq": sequence + 1, "next_by_subj": subject})


async def some_after(
    client: Client, stream: str, subject: str, sequence: int, *, most: int
) -> list[LoggedMessage]:
    """The first messages on `subject` above `sequence`, in one request: `most`, or fewer if they are large.

    Empty: there is none.

    Raises:
        TemporaryError: the server does not answer.
    """
    selector = {"seq": sequence + 1, "next_by_subj": subject, "batch": most, "max_bytes": BATCH_BYTES}
    inbox, found = client.new_inbox(), list[LoggedMessage]()
    try:
        replies = await client.subscribe(inbox)
        try:
            await client.publish(_DIRECT_GET.format(stream), json.dumps(selector).encode(), reply=inbox)
            while (one := await _logged(client, stream, await replies.next_msg(READ_SECONDS))) is not None:
                found.append(one)
        finally:
            await replies.unsubscribe()
    except (NatsError, TimeoutError) as error:
        raise TemporaryError(f"stream {stream} does not answer a direct get") from error
    return found


async def _direct(client: Client, stream: str, selector: Mapping[str, Any]) -> LoggedMessage | None:
    request = json.dumps(selector).encode()
    try:
        reply = await client.request(_DIRECT_GET.format(stream), request, timeout=READ_SECONDS)
    except (NatsError, TimeoutError) as error:
        raise TemporaryError(f"stream {stream} does not answer a direct get") from error
    return await _logged(client, stream, reply)


async def _logged(client: Client, stream: str, reply: Msg) -> LoggedMessage | None:
    """The message in a reply; None where it says that there is none, or no more."""
    headers = reply.headers or {}
    if headers.get("Status", "") in {_NOT_FOUND, _END_OF_BATCH}:
        return None
    if "Status" in headers:
        raise TemporaryError(
            f"direct get on {stream} failed: {headers.get('Description', headers['Status'])}"
        )
    subject, when = headers["Nats-Subject"], stored_at(headers["Nats-Time-Stamp"])
    if STORED_AT_HEADER in headers and await is_sealed(client, subject, reply.data, headers):
        when = checked_time(headers) or when
    return LoggedMessage(subject, int(headers["Nats-Sequence"]), when, reply.data)


def stored_at(stamp: str) -> datetime:
    """When the server stored a message, from the RFC 3339 timestamp of a direct get (UTC, up to nine digits).

    Nanoseconds are rounded as nats-py rounds those of a delivered message. With truncation, one message in
    two thousand had another millisecond when read than when delivered.
    """
    seconds, _, fraction = stamp.removesuffix("Z").partition(".")
    whole = int(datetime.fromisoformat(seconds).replace(tzinfo=UTC).timestamp())
    return datetime.fromtimestamp(int(f"{whole}{fraction:0<9}") / _NANOSECONDS, UTC)
