"""The composition root of the gateway; the only module that reads the environment."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from starlette.exceptions import HTTPException
from starlette.routing import Router

from helix_gateway.callers import Callers
from helix_gateway.door import Door
from helix_gateway.explorer.routes import EXPLORER, Explorer
from helix_gateway.failures import MethodError
from helix_gateway.hooks import HOOKS_PATH, hook_manner, hook_routes
from helix_gateway.mcp.routes import McpDoors
from helix_gateway.operations.operation import PREFIX
from helix_gateway.rest.routes import health_routes, rest_routes
from helix_gateway.settings import GatewaySettings
from helix_gateway.web_server import WebServer
from helix_memory.client import AsyncHelix, NotFoundError
from helix_shared.rpc.access.listening import require_protection
from helix_shared.rpc.server import stop_signals
from helix_shared.telemetry.health import STARTING, Health, beat
from helix_shared.telemetry.logs import configure_logging, logger
from helix_shared.telemetry.metrics import serve_metrics
from helix_shared.telemetry.tracing.setup import configure_tracing

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.types import Receive, Scope, Send

SERVICE: Final = "gateway"

_log = logger(__name__)


@dataclass(frozen=True, slots=True)
class App:
    """Settings of a gateway that is ready to run."""

    settings: GatewaySettings
    health: Health

    async def run(self) -> None:
        """Serve until SIGTERM or SIGINT.

        Raises:
            TemporaryError: the address cannot be bound, or the server ended by itself.
            InvalidInputError: a file with credentials cannot be used.
        """
        stopped = stop_signals()
        async with client_of(self.settings) as helix:
            server = WebServer(application(self.settings, helix, self.health), self.settings)
            port = await server.start()
            self.health.set_problem(STARTING, "")
            beating = asyncio.create_task(beat(self.health))
            _log.info("listening", address=self.settings.listen, port=port, query=self.settings.query_address)
            try:
                await server.serve_until(stopped)
            finally:
                self.health.stop()
                _log.info("stopping")
                await server.stop()
                beating.cancel()


def client_of(settings: GatewaySettings) -> AsyncHelix:
    """The client whose connections all callers share; it connects at the first call."""
    files = {
        "nats_credentials": settings.nats_credentials_file,
        "ca_file": settings.ca_file,
        "cert_file": settings.cert_file,
        "key_file": settings.key_file,
    }
    access: dict[str, Any] = {name: path for name, path in files.items() if path is not None}
    return AsyncHelix(
        nats_url=settings.nats_url,
        query_address=settings.query_address,
        deadline_seconds=settings.request_seconds,
        wait_seconds=settings.wait_seconds,
        **access,
    )


def application(settings: GatewaySettings, helix: AsyncHelix, health: Health) -> Door:
    """REST, MCP, hooks, the explorer and health as one ASGI application.

    Raises:
        InvalidInputError: a file with credentials cannot be used.
    """
    doors, callers = McpDoors(), Callers(settings, helix)
    explorer = Explorer(settings, callers)

    @contextlib.asynccontextmanager
    async def lifespan(_: object) -> AsyncIterator[None]:
        async with doors.run(), explorer.run():
            yield

    pages = explorer.routes()
    router = _Paths(
        [*health_routes(health), *rest_routes(), *hook_routes(settings), *doors.routes(), *pages],
        lifespan=lifespan,
    )
    return Door(
        router,
        callers,
        hosts=settings.hosts,
        in_flight=settings.in_flight,
        seconds=settings.longest_seconds,
        manners=dict.fromkeys((EXPLORER, ""), explorer.manner()) | {HOOKS_PATH: hook_manner()},
    )


class _Paths(Router):
    """Routes; a request for another path or method is answered as every failure is."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """As in the base class, whose routes raise for another method where the scope has an `app`.

        Raises:
            MethodError: the path does not have the method.
        """
        scope["app"] = self
        try:
            await super().__call__(scope, receive, send)
        except HTTPException as error:
            allow = (error.headers or {}).get("Allow", "")
            raise MethodError(f"{scope['path'][:100]!r} is only for {allow}", allow=allow) from error

    async def not_found(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Name where the paths are listed.

        Raises:
            NotFoundError: always, for HTTP.
        """
        if scope["type"] != "http":
            await super().not_found(scope, receive, send)
            return
        raise NotFoundError(f"there is no path {scope['path'][:100]!r}; {PREFIX}/openapi.json lists them")


def create_app() -> App:
    """Read the settings.

    Raises:
        InvalidInputError: a setting is wrong, or other machines would reach it without authentication.
    """
    settings = GatewaySettings.load()
    configure_logging(log_format=settings.log_format, level=settings.log_level, service=SERVICE)
    for noisy in ("mcp", "uvicorn"):
        # they log a line for each message or start; what goes wrong stays
        logging.getLogger(noisy).setLevel(max(logging.WARNING, logging.getLevelName(settings.log_level)))
    configure_tracing(SERVICE)
    require_protection(settings.listen, settings, setting="HELIX_GATEWAY_LISTEN")
    health = Health()
    serve_metrics(settings.metrics_port, health, host=settings.metrics_host)
    return App(settings, health)
