"""Reading a stream from its first message on, and removing single messages with their bytes.

A purge of a subject, or of the beginning of a block, leaves the bytes in the file. The removal of one message
by its sequence overwrites them (measured: ops/decisions/0071).
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Final, TypeVar

from nats.js.errors import APIError, NotFoundError

from helix_memory.transport.connection import NO_MESSAGE_CODES
from helix_shared.broker.log_reader import read_messages

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterable

    from nats.aio.msg import Msg
    from nats.js import JetStreamContext

T = TypeVar("T")
R = TypeVar("R")
REQUESTS_IN_FLIGHT: Final = 16
"""Requests in flight about single messages."""


async def for_each(work: Callable[[T], Awaitable[R]], values: Iterable[T]) -> list[R]:
    """The results of `work` for each value, in order; `REQUESTS_IN_FLIGHT` run at a time.

    Raises: what `work` raises first; what was begun beside it goes on.
    """
    waiting, found = list(values), list[R]()
    for start in range(0, len(waiting), REQUESTS_IN_FLIGHT):
        found += await asyncio.gather(*map(work, waiting[start : start + REQUESTS_IN_FLIGHT]))
    return found


async def messages_of(jetstream: JetStreamContext, stream: str, subject: str) -> AsyncIterator[Msg]:
    """The messages that a stream holds now on a subject, oldest first; none where there is no such stream.

    Raises:
        TemporaryError: the server does not answer; what came until then is not all.
    """
    client = jetstream._nc  # noqa: SLF001  it has no public name
    with contextlib.suppress(NotFoundError):
        async with contextlib.aclosing(read_messages(client, stream, [subject])) as batches:
            async for messages in batches:
                for message in messages:
                    yield message


async def remove_message(jetstream: JetStreamContext, stream: str, sequence: int) -> bool:
    """Remove a message and overwrite its bytes; False where it is gone already.

    Raises:
        nats.errors.Error: the server does not answer, or refuses.
    """
    try:
        return await jetstream.delete_msg(stream, sequence)
    except NotFoundError:
        return False
    except APIError as error:
        if error.err_code in NO_MESSAGE_CODES:
            return False
        raise
