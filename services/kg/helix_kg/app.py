"""Composition of kg: the only place that reads the environment."""

from __future__ import annotations

from helix_kg.consumer import SERVICE, wire
from helix_kg.settings import KgSettings
from helix_shared.broker.worker import Worker, create_broker, create_worker
from helix_shared.telemetry import configure_logging


def create_app() -> Worker:
    """The application, wired but not connected.

    Raises:
        InvalidInputError: a setting is unknown or out of bounds.
    """
    settings = KgSettings.load()
    configure_logging(log_format=settings.log_format, level=settings.log_level, service=SERVICE)
    broker = create_broker(settings, service=SERVICE)
    durable = wire(
        broker,
        ack_wait_seconds=settings.ack_wait_seconds,
        publish_timeout_seconds=settings.publish_timeout_seconds,
    )
    return create_worker(broker, [durable], settings, service=SERVICE)
