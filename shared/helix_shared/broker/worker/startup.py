"""Waits at the start of a worker until NATS answers and the durable consumers exist.

`streams` provisions them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from nats.js.errors import NotFoundError

from helix_memory.transport import connection
from helix_memory.transport.connection import UNANSWERED
from helix_memory.transport.credentials import shown
from helix_shared.errors import PermanentError, TemporaryError
from helix_shared.telemetry.logs import logger

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.js.api import ConsumerInfo

    from helix_memory.transport.credentials import NatsCredentials

START_SECONDS: Final = 30.0
"""How long a starting worker waits."""
RETRY_SECONDS: Final = 0.5

_log = logger(__name__)


@dataclass(frozen=True, slots=True)
class RequiredConsumer:
    """A durable consumer that must exist."""

    stream: str
    name: str
    subject: str = ""
    """Subject that it must filter for; empty: any."""


async def wait_for_consumers(
    url: str,
    consumers: Sequence[RequiredConsumer],
    *,
    service: str,
    credentials: NatsCredentials | None = None,
) -> None:
    """Wait until NATS answers and every consumer exists; logs each reason for waiting once.

    Raises:
        TemporaryError: not ready after `START_SECONDS`.
        PermanentError: a consumer has the right name but another filter, or NATS refuses the user.
    """
    connecting = partial(connection.connect, url, name=f"helix-{service}-start", credentials=credentials)
    deadline = asyncio.get_running_loop().time() + START_SECONDS
    reported = ""
    while (missing := await _missing(url, consumers, connecting)) is not None:
        if asyncio.get_running_loop().time() > deadline:
            raise missing
        if (reason := str(missing)) != reported:
            _log.info("waiting", reason=reason)
            reported = reason
        await asyncio.sleep(RETRY_SECONDS)


async def _missing(
    url: str, consumers: Sequence[RequiredConsumer], connecting: Callable[[], Awaitable[Client]]
) -> TemporaryError | None:
    try:
        client = await connecting()
    except TemporaryError as error:
        return error
    try:
        for consumer in consumers:
            _check(consumer, await client.jetstream().consumer_info(consumer.stream, consumer.name))
    except NotFoundError:
        names = ", ".join(f"{consumer.stream}/{consumer.name}" for consumer in consumers)
        return TemporaryError(f"a consumer is missing ({names}); provision the streams")
    except UNANSWERED as error:
        return TemporaryError(f"JetStream at {shown(url)} does not answer: {type(error).__name__}")
    finally:
        await client.close()
    return None


def _check(consumer: RequiredConsumer, info: ConsumerInfo) -> None:
    """Raise if the consumer filters for another subject."""
    filters = info.config.filter_subjects or [info.config.filter_subject or ""]
    if consumer.subject and consumer.subject not in filters:
        raise PermanentError(
            f"consumer {consumer.stream}/{consumer.name} filters for {filters}, not for {consumer.subject}; "
            "provision the streams again"
        )
