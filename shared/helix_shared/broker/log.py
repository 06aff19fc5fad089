"""Reads messages back from a stream: by sequence, or the next one on a subject before or after a sequence.

Workers have no state: they read earlier turns of a session from the stream. A direct get of JetStream takes
less than a millisecond. It always gives the same message, so a rebuild from the log sees the same context.

Any replica of a stream may answer a direct get, also one that is behind. So where a stream has several, its
leader is asked, or confirms what a replica said. How many it has is looked up once for each connection.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final
from weakref import WeakKeyDictionary

from nats.aio.client import Client
from nats.aio.msg import Msg

from helix_memory.subjects import STORED_AT_HEADER
from helix_memory.transport.connection import UNANSWERED
from helix_shared.broker.stored_at import checked_time, is_sealed
from helix_shared.errors import TemporaryError

READ_SECONDS: Final = 5.0
BATCH_BYTES: Final = 16 * 1024 * 1024
"""Bodies of one batch; the client would drop messages above 128 MiB."""
_DIRECT_GET: Final = "$JS.API.DIRECT.GET.{}"
_LEADER_GET: Final = "$JS.API.STREAM.MSG.GET.{}"
_NO_MESSAGE: Final = 10037
"""Code of the error that there is no such message."""
_replicated: Final[WeakKeyDictionary[Client, dict[str, bool]]] = WeakKeyDictionary()
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
    return await _one(client, stream, {"seq": sequence})


async def last_before(client: Client, stream: str, subject: str, sequence: int) -> LoggedMessage | None:
    """The last message on `subject` with a sequence below `sequence`, or None.

    Raises:
        TemporaryError: the server does not answer.
    """
    if sequence <= 1:
        return None
    # the stream sends a second message that ends the batch; the client drops it
    found = await _direct(client, stream, {"multi_last": [subject], "up_to_seq": sequence - 1})
    if not await _is_replicated(client, stream):
        return found
    return await _confirmed(client, stream, subject, sequence, found)


async def _confirmed(
    client: Client, stream: str, subject: str, sequence: int, found: LoggedMessage | None
) -> LoggedMessage | None:
    """The last message on `subject` below `sequence`, from the leader; a replica took `found` for it."""
    place, last = (1 if found is None else found.sequence), None
    while (one := await _from_leader(client, stream, {"seq": place, "next_by_subj": subject})) is not None:
        if one.sequence >= sequence:
            break
        place, last = one.sequence + 1, one
    if last is None and found is not None:
        # the leader has removed it
        return await last_before(client, stream, subject, found.sequence)
    return last


async def first_after(client: Client, stream: str, subject: str, sequence: int) -> LoggedMessage | None:
    """The first message on `subject` with a sequence above `sequence`, or None.

    Raises:
        TemporaryError: the server does not answer.
    """
    return await _one(client, stream, {"seq": sequence + 1, "next_by_subj": subject})


async def some_after(
    client: Client, stream: str, subject: str, sequence: int, *, most: int
) -> list[LoggedMessage]:
    """The first messages on `subject` above `sequence`, in one request: `most`, or fewer if they are large.

    Empty: there is none.

    Raises:
        TemporaryError: the server does not answer.
    """
    inbox, found = client.new_inbox(), list[LoggedMessage]()
    if await _is_replicated(client, stream):
        # a batch exists as a direct get only
        while len(found) < most and (one := await first_after(client, stream, subject, sequence)) is not None:
            found.append(one)
            sequence = one.sequence
        return found
    selector = {"seq": sequence + 1, "next_by_subj": subject, "batch": most, "max_bytes": BATCH_BYTES}
    try:
        replies = await client.subscribe(inbox)
        try:
            await client.publish(_DIRECT_GET.format(stream), json.dumps(selector).encode(), reply=inbox)
            while (one := await _logged(client, stream, await replies.next_msg(READ_SECONDS))) is not None:
                found.append(one)
        finally:
            await replies.unsubscribe()
    except UNANSWERED as error:
        raise TemporaryError(f"stream {stream} does not answer a direct get") from error
    return found


async def _one(client: Client, stream: str, selector: Mapping[str, Any]) -> LoggedMessage | None:
    is_replicated = await _is_replicated(client, stream)
    return await (_from_leader if is_replicated else _direct)(client, stream, selector)


async def _is_replicated(client: Client, stream: str) -> bool:
    """Whether a stream has several replicas, looked up once for a connection.

    Raises:
        TemporaryError: the server does not answer.
    """
    known = _replicated.setdefault(client, {})
    if stream not in known:
        try:
            config = (await client.jetstream().stream_info(stream)).config
        except UNANSWERED as error:
            raise TemporaryError(f"stream {stream} does not answer") from error
        known[stream] = (config.num_replicas or 1) > 1
    return known[stream]


async def _from_leader(client: Client, stream: str, selector: Mapping[str, Any]) -> LoggedMessage | None:
    request = json.dumps(selector).encode()
    try:
        reply = await client.request(_LEADER_GET.format(stream), request, timeout=READ_SECONDS)
    except UNANSWERED as error:
        raise TemporaryError(f"the leader of stream {stream} does not answer a get") from error
    answer = json.loads(reply.data)
    if "error" in answer:
        if answer["error"].get("err_code") == _NO_MESSAGE:
            return None
        raise TemporaryError(f"get on {stream} failed: {answer['error'].get('description')}")
    message = answer["message"]
    subject, when = message["subject"], stored_at(message["time"])
    body, headers = base64.b64decode(message.get("data", "")), _headers(message.get("hdrs", ""))
    if STORED_AT_HEADER in headers and await is_sealed(client, subject, body, headers):
        when = checked_time(headers) or when
    return LoggedMessage(subject, int(message["seq"]), when, body)


def _headers(encoded: str) -> dict[str, str]:
    """Headers as NATS stores them: a line with the version, then a line for each, in base64."""
    lines = base64.b64decode(encoded).decode("utf-8", "replace").split("\r\n")[1:]
    named = (line.partition(":") for line in lines if line)
    return {name.strip(): value.strip() for name, _, value in named}


async def _direct(client: Client, stream: str, selector: Mapping[str, Any]) -> LoggedMessage | None:
    request = json.dumps(selector).encode()
    try:
        reply = await client.request(_DIRECT_GET.format(stream), request, timeout=READ_SECONDS)
    except UNANSWERED as error:
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
