"""NATS from a command: connected for the length of a `with`, its failures as errors of our own tree."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.js import JetStreamContext
from nats.js.errors import NotFoundError

from helix_cli.clients.polling import async_looks
from helix_memory import subjects
from helix_shared.broker import connection
from helix_shared.broker.server import server_name_at
from helix_shared.errors import OtherInstanceError, PermanentError, TemporaryError


@contextlib.asynccontextmanager
async def connected(url: str, *, instance: str = "") -> AsyncIterator[JetStreamContext]:
    """JetStream at `url`.

    Raises: as `connected_client`.
    """
    async with connected_client(url, instance=instance) as client:
        yield client.jetstream()


@contextlib.asynccontextmanager
async def connected_client(url: str, *, instance: str = "") -> AsyncIterator[Client]:
    """NATS at `url`; with `instance`, only a server of that name.

    Raises:
        OtherInstanceError: another instance answers there.
        TemporaryError: it does not answer, now or later.
    """
    if instance and await asyncio.to_thread(server_name_at, url) != instance:
        raise OtherInstanceError(f"NATS at {url}")
    client = await connection.connect(url, name="helix-cli")
    try:
        yield client
    except (NatsError, TimeoutError) as error:
        raise TemporaryError(f"NATS at {url} failed: {str(error) or type(error).__name__}") from error
    finally:
        await client.close()


async def require_events_stream(jetstream: JetStreamContext, *, wait_seconds: float = 0.0) -> None:
    """Fail early, and not at every event, where nothing was provisioned for `wait_seconds`.

    Raises:
        PermanentError: there is no stream for events.
    """
    async for _ in async_looks(wait_seconds):
        with contextlib.suppress(NotFoundError):
            await jetstream.stream_info(subjects.EVENTS_STREAM)
            return
    raise PermanentError(f"stream {subjects.EVENTS_STREAM} does not exist; run `helix provision`")
