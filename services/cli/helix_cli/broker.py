"""NATS from a command: connected for the length of a `with`, its failures as errors of our own tree."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.js import JetStreamContext
from nats.js.errors import NotFoundError

from helix import subjects
from helix_shared.broker import connection
from helix_shared.errors import PermanentError, TemporaryError


@contextlib.asynccontextmanager
async def connected(url: str) -> AsyncIterator[JetStreamContext]:
    """JetStream at `url`.

    Raises: as `connected_client`.
    """
    async with connected_client(url) as client:
        yield client.jetstream()


@contextlib.asynccontextmanager
async def connected_client(url: str) -> AsyncIterator[Client]:
    """NATS at `url`.

    Raises:
        TemporaryError: it does not answer, now or later.
    """
    client = await connection.connect(url, name="helix-cli")
    try:
        yield client
    except (NatsError, TimeoutError) as error:
        raise TemporaryError(f"NATS at {url} failed: {str(error) or type(error).__name__}") from error
    finally:
        await client.close()


async def require_events_stream(jetstream: JetStreamContext) -> None:
    """Fail at once, and not after every attempt, where nothing was provisioned.

    Raises:
        PermanentError: there is no stream for events.
    """
    try:
        await jetstream.stream_info(subjects.EVENTS_STREAM)
    except NotFoundError as error:
        raise PermanentError(
            f"stream {subjects.EVENTS_STREAM} does not exist; run `helix provision`"
        ) from error
