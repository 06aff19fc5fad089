"""Composition root of consolidation: the only place that reads the environment."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from helix_consolidation.delivery.consumer import consolidate
from helix_consolidation.delivery.settle import SERVICE
from helix_consolidation.delivery.streams.stream_state import durables_of
from helix_consolidation.redriving.responder import letter_responder
from helix_consolidation.settings import ConsolidationSettings
from helix_shared.broker.worker.watchdog import end_at_once
from helix_shared.broker.worker.worker import DRAIN_SECONDS, Durable, Worker, create_broker, create_worker
from helix_shared.telemetry.logs import configure_logging

if TYPE_CHECKING:
    from faststream.nats import NatsBroker


def create_app() -> Worker:
    """Build the writer process.

    Raises:
        InvalidInputError: a setting is unknown or out of bounds.
    """
    settings = ConsolidationSettings.load()
    configure_logging(log_format=settings.log_format, level=settings.log_level, service=SERVICE)
    broker = create_broker(settings, service=SERVICE)
    durables = [Durable(stream, name) for stream, name in durables_of(settings.shard)]
    worker = create_worker(broker, durables, settings, service=SERVICE)
    wire(worker, broker, settings)
    return worker


def wire(worker: Worker, broker: NatsBroker, settings: ConsolidationSettings) -> None:
    """Start and stop the writer's loop, and the responder to letter requests, with the application."""
    stop = asyncio.Event()
    responder = contextlib.AsyncExitStack()
    running: list[asyncio.Task[None]] = []

    async def start() -> None:
        await responder.enter_async_context(letter_responder(broker.connection))
        writing = consolidate(broker.connection, settings, stop, worker.health)
        running.append(asyncio.create_task(worker.run_part("writer", writing)))

    async def drain() -> None:
        stop.set()
        await responder.aclose()
        if not running:
            return  # it still waited for its consumers
        _, unfinished = await asyncio.wait(running, timeout=DRAIN_SECONDS)
        if unfinished:
            # what is not published is not acknowledged: the next writer gets it again
            end_at_once(f"the writer did not finish within {DRAIN_SECONDS:g} s", code=0)

    worker.after_startup(start)
    worker.on_shutdown(drain)
