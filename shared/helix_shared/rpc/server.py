"""The gRPC server: one service, health and reflection on one port, with limits on every size.

Health is NOT_SERVING until the service says otherwise, and again before the server stops, so that a load
balancer moves away in time.
"""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING, Any, Final

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_health.v1.health import SERVICE_NAME as HEALTH_NAME
from grpc_health.v1.health import aio as health  # type: ignore[attr-defined]  # the stubs lack aio
from grpc_reflection.v1alpha import reflection

from helix_shared.rpc.access.listening import bind

if TYPE_CHECKING:
    from helix_shared.rpc.access.settings import AccessSettings

REQUEST_BYTES: Final = 256 * 1024
METADATA_BYTES: Final = 8 * 1024
IDLE_MS: Final = 30 * 60 * 1000
PING_MS: Final = 5_000
"""A client that pings more often is told to calm down; ours ping every 10 s (`transport.credentials`)."""

OPTIONS: Final = (
    ("grpc.max_receive_message_length", REQUEST_BYTES),
    ("grpc.max_send_message_length", -1),
    ("grpc.max_metadata_size", METADATA_BYTES),
    ("grpc.absolute_max_metadata_size", METADATA_BYTES),
    ("grpc.max_connection_idle_ms", IDLE_MS),
    ("grpc.http2.min_ping_interval_without_data_ms", PING_MS),
    ("grpc.keepalive_permit_without_calls", 1),
    # Two servers on one port would silently share the calls.
    ("grpc.so_reuseport", 0),
)


class GrpcServer:
    """One listening server; `service` is the full name of what `handler` answers, `listen` is host:port.

    `access` has the certificate. With authentication there is no reflection: health alone answers everybody.
    """

    def __init__(
        self,
        handler: grpc.GenericRpcHandler[Any, Any],
        *,
        service: str,
        listen: str,
        grace_seconds: float,
        access: AccessSettings | None = None,
    ) -> None:
        self._service = service
        self._listen = listen
        self._access = access
        self._grace_seconds = grace_seconds
        self._loop = asyncio.get_running_loop()
        self._health = health.HealthServicer()
        self._server = grpc.aio.server(options=OPTIONS)
        self._server.add_generic_rpc_handlers((handler,))
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        if access is None or not access.modes:
            names = (service, HEALTH_NAME, reflection.SERVICE_NAME)
            reflection.enable_server_reflection(names, self._server)

    async def start(self) -> int:
        """Listen; return the port, which the system chooses if the setting says 0.

        Raises:
            TemporaryError: the address cannot be bound.
            InvalidInputError: the certificate or its key cannot be used.
        """
        await self._set_health(health_pb2.HealthCheckResponse.NOT_SERVING)
        port = bind(self._server, self._listen, self._access)
        await self._server.start()
        return port

    def set_serving(self) -> None:
        """Set health to SERVING; from any thread."""
        serving = self._set_health(health_pb2.HealthCheckResponse.SERVING)
        asyncio.run_coroutine_threadsafe(serving, self._loop)

    async def stop(self) -> None:
        """Set health to NOT_SERVING, refuse new calls, wait for the running ones."""
        await self._health.enter_graceful_shutdown()
        await self._server.stop(self._grace_seconds)

    async def _set_health(self, status: health_pb2.HealthCheckResponse.ServingStatus) -> None:
        for name in ("", self._service):
            await self._health.set(name, status)


def stop_signals() -> asyncio.Event:
    """An event of the running loop that SIGTERM and SIGINT set from now on."""
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    return stopped
