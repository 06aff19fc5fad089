"""Watches a worker from inside: connection, consumers, fetching, threads, and the settings of the streams.

What a restart may repair ends the process: `fail` is called with the reason. What it cannot repair is logged
and reported to `Health` until it is over.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Final, Protocol

from nats.js.errors import NotFoundError

from helix_memory.transport.connection import UNANSWERED, reason_of
from helix_shared.broker.provisioning import drift
from helix_shared.errors import HelixError
from helix_shared.telemetry.logs import logger
from helix_shared.telemetry.metrics import (
    CONSUMER_PENDING,
    CONSUMER_UNACKNOWLEDGED,
    STREAM_SETTINGS,
    STUCK_THREADS,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from nats.aio.client import Client
    from nats.js.api import ConsumerInfo

    from helix_shared.broker.pull import Pulling
    from helix_shared.broker.worker.lanes import Lanes
    from helix_shared.telemetry.health import Health

WATCH_SECONDS: Final = 2.0
SETTINGS_SECONDS: Final = 60.0
"""Time between two comparisons of streams and consumers with what provisioning wants."""
STALLED_SECONDS: Final = 60.0
"""A worker that fetches nothing for this long, although messages are pending and it has room, ends."""
MOST_STUCK: Final = 4
"""Stuck threads at which the process ends."""

_log = logger(__name__)


class WatchedConsumer(Protocol):
    """A durable consumer that the worker reads: `worker.Durable`."""

    @property
    def stream(self) -> str:
        """Its stream."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def lanes(self) -> Lanes | None:
        """The threads its handlers work in."""

    @property
    def pulling(self) -> Pulling | None:
        """Progress of its pull loop; None: it is read in another way."""


async def watch(
    client: Client,
    durables: Sequence[WatchedConsumer],
    health: Health,
    *,
    fail: Callable[[str], None],
    service: str,
    stalled_seconds: float = STALLED_SECONDS,
) -> None:
    """End the worker when it cannot receive messages any more or too many of its threads are stuck.

    An unreachable server does not end it.
    """
    while True:
        stuck = sum(durable.lanes.stuck for durable in durables if durable.lanes is not None)
        STUCK_THREADS.labels(service).set(stuck)
        failure = ""
        if stuck >= MOST_STUCK:
            failure = f"{stuck} threads are stuck in handlers that passed their deadline"
        elif client.is_closed:
            failure = "connection is closed for good"
        health.set_problem("nats", "" if client.is_connected else "not connected")
        for durable in durables:
            failure = failure or await _failure_of(client, durable, health, stalled_seconds)
        if failure:
            health.set_problem("failed", failure)
            fail(failure)
            return
        await asyncio.sleep(WATCH_SECONDS)


async def _failure_of(
    client: Client, durable: WatchedConsumer, health: Health, stalled_seconds: float
) -> str:
    """Why the process must end: its consumer is gone, or nothing is fetched for it."""
    try:
        info = await client.jetstream().consumer_info(durable.stream, durable.name)
    except NotFoundError:
        return f"consumer {durable.stream}/{durable.name} was deleted"
    except UNANSWERED as error:
        if health.set_problem(durable.name, f"consumer does not answer: {type(error).__name__}"):
            _log.warning("consumer does not answer", consumer=durable.name, reason=type(error).__name__)
        return ""
    health.set_problem(durable.name, "")
    CONSUMER_PENDING.labels(durable.name).set(info.num_pending or 0)
    CONSUMER_UNACKNOWLEDGED.labels(durable.name).set(info.num_ack_pending or 0)
    if _is_stalled(durable, info, stalled_seconds):
        return f"{info.num_pending} messages of {durable.name} are pending and none is fetched"
    return ""


def _is_stalled(durable: WatchedConsumer, info: ConsumerInfo, stalled_seconds: float) -> bool:
    pulling = durable.pulling
    if pulling is None:
        return False
    most = info.config.max_ack_pending or 0
    if not info.num_pending or pulling.in_work or (info.num_ack_pending or 0) >= most > 0:
        # nothing to fetch, at work, or the server delivers nothing before something is acknowledged
        pulling.fetched_at = time.monotonic()
        return False
    return time.monotonic() - pulling.fetched_at > stalled_seconds


async def watch_settings(client: Client, *, every_seconds: float = SETTINGS_SECONDS) -> None:
    """Compare all streams and consumers with what provisioning wants, now and again; until cancelled.

    A difference is logged when it is found first, and counted while it is there. Nothing is changed.
    """
    known: set[drift.SettingDifference] = set()
    while True:
        try:
            found = set(await drift.differences(client.jetstream()))
        except (HelixError, *UNANSWERED) as error:
            _log.warning("stream settings not compared", reason=reason_of(error))
        else:
            for one in sorted(found - known, key=str):
                STREAM_SETTINGS.labels(one.name, one.field).set(1)
                _log.error(
                    "stream settings differ",
                    stream=one.name,
                    field=one.field,
                    wanted=one.wanted,
                    found=one.found,
                    advice=drift.ADVICE,
                )
            for name, field in {(o.name, o.field) for o in known} - {(o.name, o.field) for o in found}:
                STREAM_SETTINGS.remove(name, field)
                _log.info("stream settings are as wanted again", stream=name, field=field)
            known = found
        await asyncio.sleep(every_seconds)
