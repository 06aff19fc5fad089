"""Composition root of extract: the only place that reads the environment and loads the model."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from helix_extract.accounting.ledger import Ledger
from helix_extract.consumer import SERVICE, Extract
from helix_extract.language_model import LanguageModel
from helix_extract.pairs.judge import Judge
from helix_extract.settings import ExtractSettings
from helix_extract.statements import EDGE, StatementsBuilder
from helix_extract.windows.session_log import SessionLog
from helix_memory import subjects
from helix_shared.broker import streams
from helix_shared.broker.worker.lanes import Lanes
from helix_shared.broker.worker.rederive import Rederived
from helix_shared.broker.worker.worker import (
    Connected,
    Durable,
    Worker,
    create_broker,
    create_worker,
    subscribe,
)
from helix_shared.encoders.encoder import Encoder
from helix_shared.encoders.store import default_model
from helix_shared.endpoint.client import Endpoint
from helix_shared.errors import InvalidInputError
from helix_shared.moments import microseconds
from helix_shared.pairs.verdicts import EDGE as VERDICTS_EDGE
from helix_shared.telemetry.logs import configure_logging, logger

if TYPE_CHECKING:
    from faststream.nats import NatsBroker
    from nats.aio.msg import Msg


def create_app() -> Worker:
    """The worker, ready to run.

    Raises:
        InvalidInputError: a setting is unknown or out of bounds, or no language model is named.
        NotFoundError: there is no embedding model; `helix models build` makes one.
    """
    settings = ExtractSettings.load()
    configure_logging(log_format=settings.log_format, level=settings.log_level, service=SERVICE)
    if not settings.base_url or not settings.model:
        raise InvalidInputError(
            "HELIX_EXTRACT_BASE_URL", "extract needs HELIX_EXTRACT_BASE_URL and HELIX_EXTRACT_MODEL"
        )
    key = settings.key()
    encoder = Encoder.load(default_model(settings.models_dir), lanes=1)
    logger(__name__).info("model", name=encoder.card.name, language_model=settings.model)
    broker = create_broker(settings, service=SERVICE)
    durables = wire(broker, settings, encoder, key)
    return create_worker(broker, durables, settings, service=SERVICE)


def wire(broker: NatsBroker, settings: ExtractSettings, encoder: Encoder, key: str) -> list[Durable]:
    """Bind the worker to its durable consumers; the first one reads both, with one client and one ledger."""
    made: list[tuple[Extract, Judge]] = []

    async def handle(message: Msg, connected: Connected) -> None:
        await made[0][0].handle(message, connected)

    async def rederive(request: Msg, connected: Connected) -> Rederived:
        return await made[0][0].rederive(request, connected)

    async def handle_pairs(message: Msg, connected: Connected) -> None:
        await made[0][1].handle(message, connected)

    async def rederive_verdicts(request: Msg, connected: Connected) -> Rederived:
        return await made[0][1].rederive(request, connected)

    common = partial(
        subscribe,
        broker,
        service=SERVICE,
        lanes=Lanes(1),
        deadline_seconds=settings.deadline_seconds,
        ack_wait_seconds=settings.ack_wait_seconds,
        publish_timeout_seconds=settings.publish_timeout_seconds,
        batch_messages=settings.batch_size,
    )
    turns = common(
        stream=subjects.EVENTS_STREAM,
        durable=streams.EXTRACT,
        subject=subjects.events_of_kind("message"),
        handle=handle,
        edge=EDGE,
        rederive=rederive,
    )
    pairs = common(
        stream=subjects.PAIRS_STREAM,
        durable=streams.EXTRACT_PAIRS,
        subject="",
        handle=handle_pairs,
        edge=VERDICTS_EDGE,
        rederive=rederive_verdicts,
    )

    async def read(stop: asyncio.Event) -> None:
        jetstream = broker.connection.jetstream()
        bucket = await jetstream.key_value(streams.LEDGER)
        # a consumer that was made again reads the log from the first turn on
        consumer = await jetstream.consumer_info(subjects.EVENTS_STREAM, streams.EXTRACT)
        builder = StatementsBuilder(encoder, reading=str(microseconds(consumer.created)))
        ledger = Ledger(bucket, daily_tokens=settings.daily_tokens)
        sessions = SessionLog(settings.limits)
        async with Endpoint.of(settings, key) as endpoint:
            language_model = LanguageModel(settings, endpoint, ledger, sessions.pause)
            made[:] = [
                (
                    Extract(settings, sessions, language_model, builder),
                    Judge(settings, language_model),
                )
            ]
            await ledger.add("starts", state=state_at_start(settings))
            async with asyncio.TaskGroup() as tasks:
                ending = tasks.create_task(_end_waits(stop, sessions))
                await asyncio.wait([tasks.create_task(_read(one, stop)) for one in (turns, pairs)])
                ending.cancel()

    return [replace(turns, read=read), replace(pairs, read=None)]


def state_at_start(settings: ExtractSettings) -> dict[str, str]:
    """What `helix status` shows until a question is asked."""
    problem = "" if settings.tenants else "no tenant is asked about, HELIX_EXTRACT_TENANTS is empty"
    return {"model": settings.model, "breaker": "closed", "problem": problem}


async def _read(durable: Durable, stop: asyncio.Event) -> None:
    assert durable.read is not None  # noqa: S101  `subscribe` sets it
    await durable.read(stop)


async def _end_waits(stop: asyncio.Event, sessions: SessionLog) -> None:
    """Let handlers that wait for a turn, for pairs or for the model give their messages back at the end."""
    await stop.wait()
    sessions.end()
