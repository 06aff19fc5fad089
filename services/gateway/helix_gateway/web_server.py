"""The HTTP server: binds one address, with TLS where the settings name a certificate, and drains."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from typing import TYPE_CHECKING, Final

import uvicorn

from helix_memory.transport.credentials import OTHERS
from helix_shared.errors import InvalidInputError, TemporaryError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.types import ASGIApp

    from helix_gateway.settings import GatewaySettings

BACKLOG: Final = 128


class _Server(uvicorn.Server):
    """Leaves the signals to the process, and tells when it listens."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listens = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """As in the base class."""
        await super().startup(sockets)
        if self.started:
            self.listens.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


class WebServer:
    """Serves one ASGI application; used from one event loop."""

    def __init__(self, app: ASGIApp, settings: GatewaySettings) -> None:
        """Describe it.

        Raises:
            InvalidInputError: the certificate or its key cannot be used.
        """
        self._listen = settings.listen
        self._task: asyncio.Task[None] | None = None
        config = uvicorn.Config(
            app,
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=max(1, round(settings.grace_seconds)),
        )
        config.load()
        config.ssl = _tls(settings)
        self._server = _Server(config)

    async def start(self) -> int:
        """Listen; return the port, which the system chooses if the setting says 0.

        Raises:
            TemporaryError: the address cannot be bound.
        """
        host, _, port = self._listen.rpartition(":")
        listener = _bound(host.strip("[]"), int(port), self._listen)
        self._task = asyncio.create_task(self._server.serve([listener]))
        started = asyncio.create_task(self._server.listens.wait())
        await asyncio.wait({started, self._task}, return_when=asyncio.FIRST_COMPLETED)
        if self._task.done():
            # the lifespan of the application failed
            started.cancel()
            self._task.result()
            raise TemporaryError(f"the server on {self._listen} ended while it started; its log says why")
        return int(listener.getsockname()[1])

    async def serve_until(self, stopped: asyncio.Event) -> None:
        """Return when `stopped` is set.

        Raises:
            TemporaryError: it serves no more before that; a process that goes on would answer nobody.
        """
        waiting = asyncio.create_task(stopped.wait())
        try:
            await asyncio.wait({waiting, *filter(None, [self._task])}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
        if not stopped.is_set():
            cause = self._task.exception() if self._task is not None else None
            raise TemporaryError(f"the server on {self._listen} ended: {cause!r}") from cause

    async def stop(self) -> None:
        """Accept nothing more, wait for the running requests."""
        self._server.should_exit = True
        if self._task is not None:
            await asyncio.wait({self._task})


def _bound(host: str, port: int, listen: str) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        # only with its protocol named does asyncio switch Nagle's algorithm off: headers and body are two
        # writes, and the second would wait 40 ms for the client's acknowledgement of the first
        listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except OSError as error:
        raise TemporaryError(f"cannot listen on {listen}: {error.strerror or error}") from error
    listener.setblocking(False)  # noqa: FBT003  its only way
    return listener


def _tls(settings: GatewaySettings) -> ssl.SSLContext | None:
    """The certificate of the server; None: it serves in the clear."""
    if settings.tls_cert_file is None or settings.tls_key_file is None:
        return None
    try:
        if settings.tls_key_file.stat().st_mode & OTHERS:
            reason = f"others may read or write {settings.tls_key_file}: chmod 600"
            raise InvalidInputError("HELIX_GATEWAY_TLS_KEY_FILE", reason)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_cert_chain(settings.tls_cert_file, settings.tls_key_file)
        if settings.tls_client_ca_file is not None:
            context.load_verify_locations(settings.tls_client_ca_file)
            context.verify_mode = ssl.CERT_REQUIRED
    except (OSError, ssl.SSLError) as error:
        raise InvalidInputError("HELIX_GATEWAY_TLS_CERT_FILE", f"cannot be used: {error}") from error
    return context
