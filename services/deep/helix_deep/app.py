"""The composition root of the deep service; the only module that reads the environment."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Final

from helix_deep.api.service import SERVICE_NAME, DeepHandlers
from helix_deep.fast.query_service import QueryService
from helix_deep.settings import DeepSettings
from helix_shared.endpoint.client import Endpoint
from helix_shared.errors import InvalidInputError
from helix_shared.rpc.access.admission import Admission
from helix_shared.rpc.access.listening import require_protection
from helix_shared.rpc.server import GrpcServer, stop_signals
from helix_shared.telemetry.health import STARTING, Health, beat
from helix_shared.telemetry.logs import configure_logging, logger
from helix_shared.telemetry.metrics import serve_metrics
from helix_shared.telemetry.tracing.setup import configure_tracing

SERVICE: Final = "deep"

_log = logger(__name__)


@dataclass(frozen=True, slots=True)
class App:
    """Settings of a service that is ready to run, and the key of its language model."""

    settings: DeepSettings
    key: str
    health: Health

    async def run(self) -> None:
        """Serve until SIGTERM or SIGINT.

        Raises:
            TemporaryError: the address cannot be bound.
            InvalidInputError: a file with credentials cannot be used.
        """
        settings, stopped = self.settings, stop_signals()
        async with AsyncExitStack() as owned:
            endpoint = None
            if settings.base_url:
                endpoint = await owned.enter_async_context(Endpoint.of(settings, self.key))
            else:
                _log.warning("no language model is configured", setting="HELIX_DEEP_BASE_URL")
            query = QueryService(
                settings.query_address,
                seconds=settings.query_seconds,
                credentials=settings.query_credentials,
            )
            owned.push_async_callback(query.close)
            handlers = DeepHandlers(settings, query, endpoint, Admission(settings))
            server = GrpcServer(
                handlers.generic_handler(),
                service=SERVICE_NAME,
                listen=settings.listen,
                grace_seconds=settings.grace_seconds,
                access=settings,
            )
            port = await server.start()
            server.set_serving()
            self.health.set_problem(STARTING, "")
            owned.callback(asyncio.create_task(beat(self.health)).cancel)
            _log.info("listening", address=settings.listen, port=port, query=settings.query_address)
            try:
                await stopped.wait()
            finally:
                self.health.stop()
                _log.info("stopping")
                await server.stop()


def create_app() -> App:
    """Read the settings.

    Raises:
        InvalidInputError: a setting is wrong, an address has no model, or other machines would reach the
            service without authentication.
    """
    settings = DeepSettings.load()
    configure_logging(log_format=settings.log_format, level=settings.log_level, service=SERVICE)
    configure_tracing(SERVICE)
    if settings.base_url and not settings.model:
        raise InvalidInputError("HELIX_DEEP_MODEL", "is missing; name the model at HELIX_DEEP_BASE_URL")
    require_protection(settings.listen, settings, setting="HELIX_DEEP_LISTEN")
    health = Health()
    serve_metrics(settings.metrics_port, health, host=settings.metrics_host)
    return App(settings, settings.key(), health)
