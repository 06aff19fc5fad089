"""The shell around a stateless worker: FastStream's life cycle with settings that lose nothing.

ingest, doc2query and kg are this shell with their own handler. It starts only when the durable
consumer stands (`helix_shared.broker.streams` provisions it; FastStream would otherwise create one
with its own settings), reconnects for ever, and ends the process with exit code 1 when its
connection is closed for good or its consumer vanished, so that a supervisor starts it anew.
SIGTERM lets the running batch finish. What becomes of a message stands in `verdict`.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NoReturn

from faststream import AckPolicy, FastStream
from faststream.nats import JStream, NatsBroker, PullSub
from faststream.nats.annotations import NatsMessage
from nats.aio.msg import Msg
from nats.errors import Error as NatsError
from nats.js.errors import NotFoundError

from helix_shared.broker import connection, verdict
from helix_shared.broker.publisher import Publisher
from helix_shared.errors import HelixError, InvalidInputError, TemporaryError
from helix_shared.settings import CONFIG_ERROR_EXIT, BrokerSettings
from helix_shared.telemetry import WORK_SECONDS, logger, serve_metrics

if TYPE_CHECKING:
    from nats.aio.client import Client

FAILURE_EXIT: Final = 1
BATCH_MESSAGES: Final = 64
COLLECT_SECONDS: Final = 0.05
"""How long a batch is collected; it is latency, so it is short."""
DRAIN_SECONDS: Final = 15.0
START_SECONDS: Final = 30.0
"""How long a starting worker waits for NATS and for its consumer."""
RETRY_SECONDS: Final = 0.5
WATCH_SECONDS: Final = 2.0

_log = logger(__name__)


@dataclass(frozen=True, slots=True)
class Durable:
    """The durable consumer a worker reads."""

    stream: str
    name: str


@dataclass(frozen=True, slots=True)
class Connected:
    """What a handler may reach: the client (reading the log) and the acknowledged publisher."""

    client: Client
    publisher: Publisher


Handle = Callable[[Msg, Connected], Awaitable[None]]
"""Handles one message; its errors decide the answer, see `verdict.answer`."""


class Worker(FastStream):
    """A FastStream application that knows why it ended."""

    failure: str = ""

    def fail(self, reason: str) -> None:
        """End the process with `FAILURE_EXIT` after the running batch."""
        self.failure = self.failure or reason
        self.exit()


def create_broker(settings: BrokerSettings, *, service: str) -> NatsBroker:
    """A broker that reconnects for ever, quiet about single messages and loud about its own errors."""
    options = connection.connection_options(name=f"helix-{service}")
    return NatsBroker(
        settings.nats_url,
        **options,
        graceful_timeout=DRAIN_SECONDS,
        logger=logging.getLogger("faststream"),
        log_level=logging.DEBUG,
    )


def subscribe(
    broker: NatsBroker,
    *,
    stream: str,
    durable: str,
    subject: str,
    service: str,
    handle: Handle,
    bury: Handle | None = None,
    ack_wait_seconds: float = 60.0,
    publish_timeout_seconds: float = 5.0,
    batch_messages: int = BATCH_MESSAGES,
    collect_seconds: float = COLLECT_SECONDS,
) -> Durable:
    """Run `handle` for every message of a durable pull consumer; up to `batch_messages` at once.

    Every message is answered by `verdict.answer_all`: acknowledged, postponed or dead-lettered
    (after `bury`, what the worker owes others even then).

    Messages are fetched many at a time and handled each in its own task. FastStream's own batch
    mode (`PullSub(batch=True)`) is not used: it fetches again within the last microseconds of its
    window, nats-py then asks with a negative expiry, the error ends the loop, and what was already
    fetched is lost until the ack wait is over (seen in one of six starts).
    """

    @broker.subscriber(
        subject,
        durable=durable,
        stream=JStream(stream, declare=False),
        pull_sub=PullSub(batch_size=batch_messages, timeout=collect_seconds),
        ack_policy=AckPolicy.MANUAL,
        decoder=_left_encoded,
    )
    async def on_message(delivered: NatsMessage) -> None:
        client = broker.connection
        publisher = Publisher(client.jetstream(), timeout_seconds=publish_timeout_seconds)
        connected = Connected(client, publisher)
        with WORK_SECONDS.labels(service).time():
            await verdict.answer_all(
                [delivered.raw_message],
                _bound(handle, connected),
                service=service,
                publisher=publisher,
                ack_wait_seconds=ack_wait_seconds,
                bury=None if bury is None else _bound(bury, connected),
            )

    return Durable(stream, durable)


def create_worker(
    broker: NatsBroker, durables: Sequence[Durable], settings: BrokerSettings, *, service: str
) -> Worker:
    """The application: waits for `durables`, serves metrics, watches itself."""
    watch: set[asyncio.Task[None]] = set()

    async def wait_ready() -> None:
        await _until_ready(settings.nats_url, durables, service=service)
        serve_metrics(settings.metrics_port)

    async def start_watch() -> None:
        watch.add(asyncio.create_task(_watch(worker, broker.connection, durables)))
        _log.info("started", consumers=[durable.name for durable in durables])

    async def end_watch() -> None:
        for task in watch:
            task.cancel()
        await asyncio.gather(*watch, return_exceptions=True)

    worker = Worker(
        broker, logger=None, on_startup=[wait_ready], after_startup=[start_watch], on_shutdown=[end_watch]
    )
    return worker


def run(create_app: Callable[[], FastStream]) -> NoReturn:
    """Run the application to its end and exit: 0 on SIGTERM, 78 on bad settings, else 1."""
    try:
        app = create_app()
    except InvalidInputError as error:
        sys.stderr.write(f"bad configuration: {error}\n")
        sys.exit(CONFIG_ERROR_EXIT)
    except HelixError as error:
        _log.error("cannot start", reason=str(error))
        sys.exit(FAILURE_EXIT)
    try:
        asyncio.run(app.run())
    except (TemporaryError, NatsError, OSError) as error:
        _log.error("cannot start", reason=str(error) or type(error).__name__)
        sys.exit(FAILURE_EXIT)
    failure = app.failure if isinstance(app, Worker) else ""
    if failure:
        _log.error("gave up", reason=failure)
    sys.exit(FAILURE_EXIT if failure else 0)


async def _until_ready(url: str, durables: Sequence[Durable], *, service: str) -> None:
    deadline = asyncio.get_running_loop().time() + START_SECONDS
    while True:
        try:
            client = await connection.connect(url, name=f"helix-{service}-start")
            try:
                for durable in durables:
                    await client.jetstream().consumer_info(durable.stream, durable.name)
            finally:
                await client.close()
        except NotFoundError as error:
            if asyncio.get_running_loop().time() > deadline:
                raise TemporaryError(f"no consumer {durables}; provision the streams first") from error
        except (TemporaryError, NatsError, TimeoutError):
            if asyncio.get_running_loop().time() > deadline:
                raise
        else:
            return
        await asyncio.sleep(RETRY_SECONDS)


async def _watch(worker: Worker, client: Client, durables: Sequence[Durable]) -> None:
    """Fail the worker when it can never receive again; a server that is only away is waited for."""
    while not worker.failure:
        await asyncio.sleep(WATCH_SECONDS)
        if client.is_closed:
            worker.fail("connection is closed for good")
            return
        for durable in durables:
            try:
                await client.jetstream().consumer_info(durable.stream, durable.name)
            except NotFoundError:
                worker.fail(f"consumer {durable.stream}/{durable.name} vanished")
            except (NatsError, TimeoutError, OSError) as error:
                _log.warning("consumer does not answer", consumer=durable.name, reason=type(error).__name__)


def _bound(handle: Handle, connected: Connected) -> verdict.Handler:
    async def bound(message: Msg) -> None:
        await handle(message, connected)

    return bound


async def _left_encoded(_: NatsMessage) -> bytes:
    """Bodies are decoded by the handler: FastStream would turn `1` into a number and refuse it."""
    return b""
