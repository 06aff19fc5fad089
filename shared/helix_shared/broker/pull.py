"""Reads a durable pull consumer with several messages in progress at once.

New messages are fetched while earlier ones are processed, so the cores do not idle during a fetch or a
publish. The server is told before the ack wait ends that a message is still in progress.

FastStream's pull subscribers are not used: nats-py sometimes ends an idle fetch with a plain `TimeoutError`
(measured: every other second), which FastStream does not expect. Its batch mode then loses the fetched
messages until the ack wait ends; its single mode restarts its task and never frees the old ones. Here a fetch
without a message is normal, errors are retried, and fetched messages are processed before the loop ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from nats.errors import Error as NatsError

from helix_memory.transport.connection import UNANSWERED, reason_of
from helix_shared.broker.cancelling import cancel_all
from helix_shared.broker.pull_reader import PullReader
from helix_shared.broker.stored_at import check_times
from helix_shared.errors import TemporaryError
from helix_shared.telemetry.logs import logger

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.aio.msg import Msg

LINGER_SECONDS: Final = 0.5
"""Longest wait for a first message; a loop may take as long to notice that it is stopped."""
RETRY_SECONDS: Final = 0.5
REFILL: Final = 4
"""A fetch waits until 1 / REFILL of the places are free, so that it returns several messages."""

_log = logger(__name__)


@dataclass(slots=True)
class Pulling:
    """Progress of one pull loop."""

    in_work: int = 0
    """Messages that are processed now."""
    fetched_at: float = field(default_factory=time.monotonic)
    """When a message was fetched last, or the loop began."""


async def pull(
    client: Client,
    process: Callable[[Msg], Coroutine[Any, Any, None]],
    stop: asyncio.Event,
    *,
    stream: str,
    durable: str,
    most_in_work: int,
    collect_seconds: float,
    ack_wait_seconds: float,
    pulling: Pulling | None = None,
) -> None:
    """Run `process` for every message of a durable, at most `most_in_work` at once, until `stop` is set.

    Processing starts in the order of delivery. A fetch waits up to `collect_seconds` for more messages,
    which adds to the latency. An exception of `process` ends the loop and is raised. `pulling` shows its
    progress.
    """
    pulling = pulling or Pulling()
    pulling.fetched_at = time.monotonic()
    reader = await PullReader.open(client, stream=stream, consumer=durable)
    in_work: dict[asyncio.Task[None], Msg] = {}
    every_seconds = await reader.heartbeat_seconds(ack_wait_seconds)
    heartbeat = asyncio.create_task(_send_heartbeats(in_work, every_seconds))
    try:
        while not stop.is_set():
            free = most_in_work - len(in_work)
            if free < max(1, most_in_work // REFILL):
                await _wait_for_one(in_work)
                continue
            for message in await fetch(client, reader, free, collect_seconds):
                in_work[asyncio.create_task(process(message))] = message
                pulling.fetched_at = time.monotonic()
            _remove(in_work, {task for task in in_work if task.done()})
            pulling.in_work = len(in_work)
        while in_work:
            await _wait_for_one(in_work)
    finally:
        await cancel_all((heartbeat, *in_work))
        with contextlib.suppress(NatsError):
            await reader.unsubscribe()


async def _wait_for_one(in_work: dict[asyncio.Task[None], Msg]) -> None:
    done, _ = await asyncio.wait(in_work, return_when=asyncio.FIRST_COMPLETED)
    _remove(in_work, done)


def _remove(in_work: dict[asyncio.Task[None], Msg], done: set[asyncio.Task[None]]) -> None:
    """Remove finished tasks; raises the exception of a task that failed."""
    for task in done:
        del in_work[task]
        task.result()


async def _send_heartbeats(in_work: Mapping[asyncio.Task[None], Msg], every_seconds: float) -> None:
    """Tell the server every `every_seconds` which messages are still in progress."""
    while True:
        await asyncio.sleep(every_seconds)
        for message in list(in_work.values()):
            if not message.is_acked:
                # a lost heartbeat only causes a redelivery
                with contextlib.suppress(*UNANSWERED):
                    await message.in_progress()


async def fetch(client: Client, reader: PullReader, most: int, collect_seconds: float) -> list[Msg]:
    """At most `most` messages: the first within `LINGER_SECONDS`, the others `collect_seconds` after it.

    Empty if there is no message, or, after a pause, if the server is unreachable.
    """
    try:
        messages = await reader.fetch(1, timeout_seconds=LINGER_SECONDS)
    except TimeoutError:
        return []
    except UNANSWERED as error:
        _log.warning("fetch failed", reason=reason_of(error))
        await asyncio.sleep(RETRY_SECONDS)
        return []
    if most > 1:
        # the first message must be processed even when this fetch fails
        with contextlib.suppress(*UNANSWERED):
            messages += await reader.fetch(most - 1, timeout_seconds=collect_seconds)
    try:
        await check_times(client, messages)
    except TemporaryError as error:
        _log.warning("times of storage not checked", reason=str(error))
        await _give_back(messages)
        return []
    return messages


async def _give_back(messages: list[Msg]) -> None:
    for message in messages:
        # without it the message is delivered again after the ack wait
        with contextlib.suppress(*UNANSWERED):
            await message.nak(delay=RETRY_SECONDS)
