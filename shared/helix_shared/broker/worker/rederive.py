"""Asking a worker to derive a message once more, and answering such a request.

A request travels outside of the streams and its answer comes back to whoever asked: nothing is
published, so no de-duplication window swallows it and no consumer waits behind it. One copy of the
worker answers. `ingest` is asked by the sequence of an event, the workers that derive from
memories by the memories message itself.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, Final

from nats.aio.msg import Msg
from nats.errors import Error as NatsError

from helix_memory import subjects
from helix_shared.errors import HelixError, TemporaryError
from helix_shared.telemetry import logger

if TYPE_CHECKING:
    from nats.aio.client import Client

SEQUENCE_DIGITS: Final = 19
"""A longer number is no sequence of a stream."""
REQUEST_SECONDS: Final = 20.0
"""Longest wait for an answer: a long document is embedded anew."""

Answer = Callable[[Msg], Awaitable[bytes]]

_log = logger(__name__)


async def request_derivation(
    client: Client, edge: str, *, sequence: int, model: str = "", body: bytes = b""
) -> bytes:
    """The derived message of an event on `edge`, derived now; `model` is the one it has to be made with.

    Raises:
        TemporaryError: nobody answers, or the worker cannot; the message says why.
    """
    headers = {subjects.EVENT_SEQUENCE_HEADER: str(sequence), subjects.MODEL_HEADER: model}
    try:
        reply = await client.request(
            subjects.derivation_request_subject(edge), body, timeout=REQUEST_SECONDS, headers=headers
        )
    except (NatsError, TimeoutError, OSError) as error:
        reason = f"nobody derives {edge} of event {sequence} again ({type(error).__name__})"
        raise TemporaryError(reason) from error
    reason = (reply.headers or {}).get(subjects.REASON_HEADER, "")
    if reason:
        raise TemporaryError(f"{edge} of event {sequence} are not derived again: {reason}")
    return reply.data


@contextlib.asynccontextmanager
async def derivation_responder(client: Client, edge: str, answer: Answer) -> AsyncIterator[None]:
    """Answer requests for `edge`, one at a time, inside; what fails is told to whoever asked."""

    async def reply(request: Msg) -> None:
        try:
            body, headers = await answer(request), None
        except HelixError as error:
            body, headers = b"", {subjects.REASON_HEADER: str(error).replace("\n", " ")}
        except Exception as error:  # noqa: BLE001  told to whoever asked
            _log.exception("request not answered", edge=edge)
            body, headers = b"", {subjects.REASON_HEADER: type(error).__name__}
        # who asked asks again
        with contextlib.suppress(NatsError, OSError):
            await client.publish(request.reply, body, headers=headers)

    subscription = await client.subscribe(subjects.derivation_request_subject(edge), queue=edge, cb=reply)
    try:
        yield
    finally:
        with contextlib.suppress(NatsError, OSError):
            await subscription.unsubscribe()


def requested_sequence(request: Msg) -> int:
    """The event a request is for.

    Raises:
        TemporaryError: it names none.
    """
    sequence = header_sequence(request)
    if not sequence:
        raise TemporaryError(f"request names no event in {subjects.EVENT_SEQUENCE_HEADER}")
    return sequence


def header_sequence(message: Msg) -> int:
    """The event a message says it follows from, in its header; 0 where it says nothing."""
    stated = (message.headers or {}).get(subjects.EVENT_SEQUENCE_HEADER, "")
    return int(stated) if stated.isdecimal() and len(stated) < SEQUENCE_DIGITS else 0
