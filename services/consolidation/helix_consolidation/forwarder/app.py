"""Composition root of the forwarder: the only place of it that reads the environment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from helix_consolidation.forwarder.forward import forward
from helix_consolidation.forwarder.settings import ForwarderSettings
from helix_memory.subjects import ACCESS_STREAM
from helix_memory.transport.publisher import Publisher
from helix_shared.broker.streams import CONSOLIDATION_ACCESS
from helix_shared.broker.worker.worker import Durable, Worker, create_broker, create_worker
from helix_shared.telemetry.logs import configure_logging

if TYPE_CHECKING:
    import asyncio

SERVICE: Final = "forwarder"


def create_app() -> Worker:
    """Build the forwarder process; it waits until the consumer of the accesses exists.

    Raises:
        InvalidInputError: a setting is unknown or out of bounds.
    """
    settings = ForwarderSettings.load()
    configure_logging(log_format=settings.log_format, level=settings.log_level, service=SERVICE)
    broker = create_broker(settings, service=SERVICE)

    async def read(stop: asyncio.Event) -> None:
        jetstream = broker.connection.jetstream()
        publisher = Publisher(jetstream, timeout_seconds=settings.publish_timeout_seconds)
        await forward(publisher, settings, stop)

    durable = Durable(ACCESS_STREAM, CONSOLIDATION_ACCESS, read=read)
    return create_worker(broker, [durable], settings, service=SERVICE)
