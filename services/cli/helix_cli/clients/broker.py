"""NATS as a command uses it: connected for the length of a `with`, with errors of Helix's own tree."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any, Protocol, TypeVar

from nats.aio.client import Client
from nats.errors import Error as NatsError
from nats.js import JetStreamContext
from nats.js.errors import NotFoundError

from helix_cli.output.logs import configure_logs
from helix_memory import subjects
from helix_memory.transport import connection
from helix_memory.transport.credentials import NatsCredentials, shown
from helix_memory.transport.polling import async_poll
from helix_shared.broker.provisioning.provision import provision
from helix_shared.broker.server import server_name_at
from helix_shared.errors import OtherInstanceError, PermanentError, TemporaryError

T = TypeVar("T")


class NatsServer(Protocol):
    """Where NATS listens, and as which user it is asked; a `Server` of `helix_cli.home` is one."""

    @property
    def address(self) -> str:
        """Its URL."""

    @property
    def instance(self) -> str:
        """The instance that it must belong to; empty: any."""

    @property
    def nats(self) -> NatsCredentials | None:
        """The user; None: without one."""


def run_async(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end; in a thread if this one runs an event loop already, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()


def jetstream_of(server: NatsServer) -> AbstractAsyncContextManager[JetStreamContext]:
    """JetStream of `server`, of its instance alone.

    Raises: as `connected_client`.
    """
    return connected(server.address, instance=server.instance, credentials=server.nats)


def client_of(server: NatsServer) -> AbstractAsyncContextManager[Client]:
    """NATS at `server`, of its instance alone.

    Raises: as `connected_client`.
    """
    return connected_client(server.address, instance=server.instance, credentials=server.nats)


@contextlib.asynccontextmanager
async def connected(
    url: str, *, instance: str = "", credentials: NatsCredentials | None = None
) -> AsyncIterator[JetStreamContext]:
    """JetStream at `url`.

    Raises: as `connected_client`.
    """
    async with connected_client(url, instance=instance, credentials=credentials) as client:
        yield client.jetstream()


@contextlib.asynccontextmanager
async def connected_client(
    url: str, *, instance: str = "", credentials: NatsCredentials | None = None
) -> AsyncIterator[Client]:
    """NATS at `url`; with `instance`, only a server of that name.

    Raises:
        UnauthenticatedError: it refuses the user of the credentials.
        OtherInstanceError: a server of another name answers there.
        TemporaryError: it does not answer, at first or later.
    """
    configure_logs()
    tls = credentials.options().get("tls") if credentials else None
    if instance and await asyncio.to_thread(server_name_at, url, tls=tls) != instance:
        raise OtherInstanceError(f"NATS at {shown(url)}")
    client = await connection.connect(url, name="helix-cli", credentials=credentials)
    try:
        yield client
    except (NatsError, TimeoutError) as error:
        raise TemporaryError(f"NATS at {shown(url)} failed: {connection.reason_of(error)}") from error
    finally:
        await client.close()


async def require_events_stream(jetstream: JetStreamContext, *, wait_seconds: float = 0.0) -> None:
    """Wait up to `wait_seconds` for the stream of events, so that a missing one is one error, not many.

    Raises:
        PermanentError: there is no stream for events.
    """
    async for _ in async_poll(wait_seconds):
        with contextlib.suppress(NotFoundError):
            await jetstream.stream_info(subjects.EVENTS_STREAM)
            return
    raise PermanentError(f"stream {subjects.EVENTS_STREAM} does not exist; run `helix provision`")


async def require_publishing(
    jetstream: JetStreamContext, credentials: NatsCredentials | None, *, wait_seconds: float
) -> None:
    """As `require_events_stream`, unless the user may not ask: a tenant's may only publish.

    Raises: as `require_events_stream`.
    """
    if credentials is None or not credentials.is_of_tenant:
        await require_events_stream(jetstream, wait_seconds=wait_seconds)


async def last_event_sequence(jetstream: JetStreamContext) -> int:
    """Sequence of the newest event; 0 where there is none."""
    return (await jetstream.stream_info(subjects.EVENTS_STREAM)).state.last_seq


def provision_server(
    nats_url: str,
    *,
    replicas: int | None = None,
    placement: Sequence[str] = (),
    shards: int | None = None,
    instance: str = "",
    endpoint: bool = False,
    objects: bool = False,
    credentials: NatsCredentials | None = None,
) -> list[str]:
    """Create or update the streams, consumers and buckets at `nats_url`; one line for each.

    `replicas`, `placement`, `endpoint`, `objects`: as `provision`. `shards`: how many there are from
    now on; None: as many as before.

    Raises:
        InvalidInputError: fewer shards than there are, or too many.
        TemporaryError: it does not answer, or a writer runs while the number of shards changes.
    """
    from helix_cli.clients.sharding import grow  # noqa: PLC0415  it imports consolidation, and only this needs it

    async def work() -> list[str]:
        async with connected_client(nats_url, instance=instance, credentials=credentials) as client:
            create = partial(
                provision,
                client.jetstream(),
                replicas=replicas,
                placement=placement,
                endpoint=endpoint,
                objects=objects,
            )
            done = await create()
            # the streams have to exist before tenants are looked up, the consumers of new shards come after
            return done if shards is None or not await grow(client, shards) else await create()

    return run_async(work())
