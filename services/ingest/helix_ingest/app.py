"""Composition root of ingest: the only place that reads the environment and loads the model."""

from __future__ import annotations

import os

from helix_ingest.consumer import SERVICE, Ingest, wire
from helix_ingest.memories_builder import MemoriesBuilder
from helix_ingest.session_turns import SessionTurns
from helix_ingest.settings import IngestSettings
from helix_shared.broker.worker.lanes import Lanes
from helix_shared.broker.worker.worker import Worker, create_broker, create_worker
from helix_shared.encoders.encoder import Encoder
from helix_shared.encoders.store import default_model
from helix_shared.encoders.vector_cache import VectorCache
from helix_shared.telemetry.logs import configure_logging, logger


def create_app() -> Worker:
    """The worker, ready to run.

    Raises:
        InvalidInputError: a setting is unknown or out of bounds.
        NotFoundError: there is no model; `helix models build` makes one.
    """
    settings = IngestSettings.load()
    configure_logging(log_format=settings.log_format, level=settings.log_level, service=SERVICE)
    lanes = settings.lanes_of(len(os.sched_getaffinity(0)))
    cache = VectorCache(settings.vector_cache_bytes)
    encoder = Encoder.load(default_model(settings.models_dir), lanes=lanes, cache=cache)
    logger(__name__).info("model", name=encoder.card.name, checksum=encoder.card.checksum, lanes=lanes)
    broker = create_broker(settings, service=SERVICE)
    ingest = Ingest(
        MemoriesBuilder(encoder, settings.most_tokens(encoder.card)),
        SessionTurns(most_bytes=settings.turn_cache_bytes),
        Lanes(lanes),
    )
    durable = wire(broker, ingest, settings)
    return create_worker(broker, [durable], settings, service=SERVICE)
