"""Connecting to NATS: reconnects without limit, to the same instance, and notices soon that a server is gone.

By default nats-py gives up after two minutes and notices lost packets after four. When a connection is closed
for good, `helix_shared.broker.worker.worker` ends the process, and its supervisor starts it again.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from typing import TYPE_CHECKING, Any, Final

import nats
import nats.errors
from nats.aio.client import Client

from helix_memory.errors import TemporaryError
from helix_memory.transport.credentials import RefusedUserError, shown
from helix_memory.transport.delivered import deliver_all

if TYPE_CHECKING:
    from helix_memory.transport.credentials import NatsCredentials

RECONNECT_SECONDS: Final = 1
PING_SECONDS: Final = 2
CONNECT_SECONDS: Final = 5
PROBES: Final = 3

UNANSWERED: Final = (nats.errors.Error, TimeoutError, OSError)
"""What a call to NATS raises while the server is unreachable."""
NO_MESSAGE_CODES: Final = (10043, 10057)
"""Error codes of the server where a message that is to be removed is not there."""

_log = logging.getLogger(__name__)


def reason_of(error: BaseException) -> str:
    """What an error says; the name of its class where it says nothing, as a `TimeoutError` of asyncio."""
    return str(error) or type(error).__name__


def server_id(client: Client) -> str:
    """Of the NATS server that a client is connected to: another one after each start of the server."""
    return str(client._server_info.get("server_id", ""))  # noqa: SLF001  it has no public name


def connection_options(*, name: str) -> dict[str, Any]:
    """Keyword arguments for both `nats.connect` and FastStream's `NatsBroker`; credentials are separate."""

    async def report(error: Exception) -> None:
        _log.warning("nats error: %s", reason_of(error))

    return {
        "name": name,
        "error_cb": report,
        "allow_reconnect": True,
        "max_reconnect_attempts": -1,
        "reconnect_time_wait": RECONNECT_SECONDS,
        "connect_timeout": CONNECT_SECONDS,
        "ping_interval": PING_SECONDS,
        "max_outstanding_pings": 2,
    }


def servers_of(url: str) -> list[str]:
    """The addresses of the servers of a cluster, which are given together with commas between them."""
    return [one.strip() for one in url.split(",") if one.strip()]


async def connect(
    url: str,
    *,
    name: str,
    credentials: NatsCredentials | None = None,
    timeout_seconds: float = CONNECT_SECONDS,
) -> Client:
    """A connected client; `url` may name several servers of a cluster, with commas between them.

    Raises:
        TemporaryError: no server answers at `url` within `timeout_seconds`.
        RefusedUserError: the server refuses the credentials, or wants some.
        InvalidInputError: a file of the credentials cannot be used.
    """
    options = connection_options(name=name) | (credentials.options() if credentials else {})
    try:
        # the first connection must fail fast; later reconnections are unlimited
        once = options | {"allow_reconnect": False, "max_reconnect_attempts": 1, "error_cb": _raised}
        await asyncio.wait_for(_probe(url, once), timeout_seconds)
        try:
            return await asyncio.wait_for(_connected(url, options), timeout_seconds)
        except TimeoutError:
            # refused or gone since the probe: without a limit it would be tried for ever; the probe says why
            await asyncio.wait_for(_probe(url, once), timeout_seconds)
            raise
    except UNANSWERED as error:
        if "authorization violation" in str(error).lower():
            raise RefusedUserError(
                f"NATS at {shown(url)} refuses the user; check its credentials file"
            ) from error
        if isinstance(error, ssl.SSLError) or "tls" in str(error).lower():
            raise TemporaryError(f"no TLS connection to NATS at {shown(url)}: {error}") from error
        hint = "" if "tls" in options else "; or it wants TLS, then name its CA"
        raise TemporaryError(
            f"no NATS server answers at {shown(url)}; start one, e.g. with `helix up`, "
            f"or name the address that it printed{hint}"
        ) from error


async def _raised(_: Exception) -> None:
    """The exception of the probe says it."""


async def _connected(url: str, options: dict[str, Any]) -> Client:
    client = await nats.connect(servers_of(url), **options)
    deliver_all(client)
    stay_with_server(client)
    return client


def stay_with_server(client: Client) -> None:
    """Let `client` come back to the server that it is connected with now, or to another of its cluster.

    The port of a server that has ended may be used by that of another instance, whose events are nobody's
    here. Such a server gets no subscription and no message; it is told as an error, and tried again. A server
    without a configured name has another one after each start, so a client of one takes any.
    """
    known, process_info = dict(client._server_info), client._process_info  # noqa: SLF001  no public hook

    async def checked(info: dict[str, Any], initial_connection: bool = False) -> None:
        if initial_connection and _is_other(known, info):
            if client._transport is not None:  # noqa: SLF001
                client._transport.close()  # type: ignore[no-untyped-call] # noqa: SLF001
            raise nats.errors.Error(
                f"the server is {info.get('server_name')!r}, and not {known['server_name']!r}: "
                "it is of another instance; nothing is read or written there"
            )
        await process_info(info, initial_connection)

    vars(client).update(_process_info=checked)


def _is_other(known: dict[str, Any], info: dict[str, Any]) -> bool:
    """Whether the INFO of a server says that it is of another instance than the one of `known`."""
    if known.get("cluster"):
        return bool(info.get("cluster") != known["cluster"])
    is_named = known.get("server_name") != known.get("server_id")
    return is_named and info.get("server_name") != known.get("server_name")


async def _probe(url: str, options: dict[str, Any]) -> None:
    """Connect; again after a reset, because the server may end a connection before its reason is read."""
    for attempt in range(1, PROBES + 1):
        try:
            client = await nats.connect(servers_of(url), **options)
        except ConnectionError:
            if attempt == PROBES:
                raise
        else:
            await client.close()
            return
