"""The life cycle of a worker process: FastStream application, connection, reading, watching, shutdown.

ingest, doc2query and kg add only a handler. A worker starts when its durable consumer exists (`startup`) and
reconnects without limit. It ends with exit code 1, and its supervisor starts it again, when its connection is
closed for good, its reader fails, its consumer was deleted, it fetches nothing although messages are pending,
too many of its threads are stuck (`watch`, `lanes`), or its event loop hangs (`watchdog`). After SIGTERM the
messages in progress are finished, for `DRAIN_SECONDS`. `pull` fetches messages, `settlement` settles them,
`outbox` publishes results, `deadline` limits handlers.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NoReturn, Protocol

from faststream import FastStream
from faststream.nats import NatsBroker
from faststream.nats.security import NatsSecurity, NatsUserPassword
from nats.aio.msg import Msg

from helix_memory.transport import connection, delivered
from helix_memory.transport.connection import UNANSWERED
from helix_memory.transport.publisher import Publisher, Publishes
from helix_shared.broker import deadline, settlement, traced
from helix_shared.broker.cancelling import REPEAT_SECONDS, cancel_all
from helix_shared.broker.pull import Pulling, pull
from helix_shared.broker.worker.lanes import Lanes
from helix_shared.broker.worker.niceness import lower_process_priority
from helix_shared.broker.worker.outbox import Outbox
from helix_shared.broker.worker.rederive import Rederived, derivation_responder
from helix_shared.broker.worker.startup import RequiredConsumer, wait_for_consumers
from helix_shared.broker.worker.watch import MOST_STUCK, watch, watch_settings
from helix_shared.broker.worker.watchdog import FAILURE_EXIT, watched
from helix_shared.errors import CONFIG_ERROR_EXIT, HelixError, InvalidInputError
from helix_shared.machine.processes import resume_garbage_collection
from helix_shared.settings import BrokerSettings
from helix_shared.telemetry.health import STARTING, Health, beat
from helix_shared.telemetry.logs import logger
from helix_shared.telemetry.metrics import WORK_SECONDS, serve_metrics
from helix_shared.telemetry.tracing.setup import configure_tracing

if TYPE_CHECKING:
    from nats.aio.client import Client

BATCH_MESSAGES: Final = 64
COLLECT_SECONDS: Final = 0.01
DRAIN_SECONDS: Final = 10.0
"""A supervisor waits 15 s before it kills."""

_log = logger(__name__)


@dataclass(frozen=True, slots=True)
class Durable:
    """The durable consumer that a worker reads."""

    stream: str
    name: str
    subject: str = ""
    """Subject that it must filter for; empty: any."""
    read: Callable[[asyncio.Event], Awaitable[None]] | None = None
    """Processes its messages until the event is set; None: the application reads it itself."""
    lanes: Lanes | None = None
    """The threads its handlers work in."""
    pulling: Pulling | None = None
    """Progress of its pull loop; None: it is read in another way."""


@dataclass(frozen=True, slots=True)
class Connected:
    """What a handler may use: the client to read the log, the publisher, and lanes for CPU-bound work."""

    client: Client
    publisher: Publishes
    lanes: Lanes


class Handle(Protocol):
    """Handles one message; its errors decide how it is settled, see `settlement`."""

    async def __call__(self, message: Msg, connected: Connected) -> None:
        """Return when the message is processed."""


Rederive = Callable[[Msg, Connected], Awaitable[Rederived]]
"""Derives one message again; the request names the event or holds the memories message."""


class Worker(FastStream):
    """A FastStream application that records why it ended."""

    failure: str = ""
    niceness: int = 0
    hang_seconds: float = 60.0
    health: Health

    def fail(self, reason: str) -> None:
        """End the process with `FAILURE_EXIT` after the messages in progress."""
        if not self.failure:
            _log.error("process ends", reason=reason)
        self.failure = self.failure or reason
        self.exit()

    async def run_part(self, name: str, work: Awaitable[None]) -> None:
        """Await work without which the process is of no use: if it fails, the process ends.

        A panic of a Rust engine is a `BaseException`, and ends the process, too.
        """
        try:
            await work
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # noqa: BLE001  every failure ends the process; a supervisor restarts it
            if not isinstance(error, HelixError):
                _log.exception("failed", part=name)
            self.fail(_reason(error) if isinstance(error, HelixError) else f"{name} failed: {_reason(error)}")


def create_broker(settings: BrokerSettings, *, service: str) -> NatsBroker:
    """A broker that reconnects without limit, with the user of the settings.

    Raises:
        InvalidInputError: the file of the user, or of the CA, cannot be used.
    """
    options = connection.connection_options(name=f"helix-{service}")
    own = settings.nats_credentials.options()
    if "user" in own:
        options["inbox_prefix"] = own["inbox_prefix"]
        options["security"] = NatsUserPassword(
            own["user"], own["password"], ssl_context=own.get("tls"), tls_handshake_first="tls" in own
        )
    elif "tls" in own:
        options["security"] = NatsSecurity(ssl_context=own["tls"], tls_handshake_first=True)
    servers = connection.servers_of(settings.nats_url)
    return NatsBroker(servers, **options, graceful_timeout=DRAIN_SECONDS, logger=None)


def subscribe(
    broker: NatsBroker,
    *,
    stream: str,
    durable: str,
    subject: str,
    service: str,
    handle: Handle,
    lanes: Lanes,
    on_dead_letter: Handle | None = None,
    edge: str = "",
    rederive: Rederive | None = None,
    deadline_seconds: float = 300.0,
    ack_wait_seconds: float = 60.0,
    publish_timeout_seconds: float = 5.0,
    batch_messages: int = BATCH_MESSAGES,
    collect_seconds: float = COLLECT_SECONDS,
) -> Durable:
    """Run `handle` for every message of a durable pull consumer, at most `batch_messages` at once.

    Handlers start in the order of delivery; one that works for longer than `deadline_seconds` has failed.
    `settlement` settles every message; `on_dead_letter` publishes what other services still wait for.
    Meanwhile `rederive` responds to requests to derive a message of `edge` again. Nothing is read before the
    application of the returned consumer runs (`create_worker`).
    """
    pulling = Pulling()

    async def read(stop: asyncio.Event) -> None:
        client = broker.connection
        delivered.deliver_all(client)
        connection.stay_with_server(client)
        publisher = Publisher(client.jetstream(), timeout_seconds=publish_timeout_seconds)
        outbox = Outbox(client, publisher)
        connected = Connected(client, outbox, lanes)
        failures = settlement.Failures(is_ending=lambda: lanes.stuck >= MOST_STUCK)
        letter = on_dead_letter

        async def handle_in_time(message: Msg) -> None:
            with outbox.expecting(), traced.processing(message, durable):
                await deadline.within(deadline_seconds, handle(message, connected))

        async def process(message: Msg) -> None:
            with WORK_SECONDS.labels(service).time(), traced.carrying(message):
                await settlement.settle(
                    message,
                    handle_in_time,
                    service=service,
                    publisher=publisher,
                    failures=failures,
                    on_dead_letter=functools.partial(letter, connected=connected) if letter else None,
                )

        async with contextlib.AsyncExitStack() as responder:
            if rederive is not None:
                respond = functools.partial(_within, deadline_seconds, rederive, connected)
                await responder.enter_async_context(derivation_responder(client, edge, respond))
            await pull(
                client,
                process,
                stop,
                stream=stream,
                durable=durable,
                most_in_work=batch_messages,
                collect_seconds=collect_seconds,
                ack_wait_seconds=ack_wait_seconds,
                pulling=pulling,
            )

    return Durable(stream, durable, subject, read, lanes, pulling)


async def _within(seconds: float, rederive: Rederive, connected: Connected, request: Msg) -> Rederived:
    return await deadline.within(seconds, rederive(request, connected))


def create_worker(
    broker: NatsBroker,
    durables: Sequence[Durable],
    settings: BrokerSettings,
    *,
    service: str,
) -> Worker:
    """The application: waits for `durables`, reads them, serves metrics and watches its own state.

    `run` applies the niceness of the settings.
    """
    configure_tracing(service)
    stop = asyncio.Event()
    required = [RequiredConsumer(durable.stream, durable.name, durable.subject) for durable in durables]
    readers: list[asyncio.Task[None]] = []
    watchers: list[asyncio.Task[None]] = []
    health = Health(hang_seconds=settings.hang_seconds)

    async def wait_ready() -> None:
        serve_metrics(settings.metrics_port, health, host=settings.metrics_host)
        await wait_for_consumers(
            settings.nats_url, required, service=service, credentials=settings.nats_credentials
        )

    async def start() -> None:
        for durable in durables:
            if durable.read is not None:
                part = worker.run_part(f"reader of {durable.name}", durable.read(stop))
                readers.append(asyncio.create_task(part))
        watched_parts = watch(broker.connection, durables, health, fail=worker.fail, service=service)
        watchers.append(asyncio.create_task(watched_parts))
        watchers.append(asyncio.create_task(watch_settings(broker.connection)))
        watchers.append(asyncio.create_task(beat(health)))
        health.set_problem(STARTING, "")
        _log.info("started", consumers=[durable.name for durable in durables])

    async def end() -> None:
        health.stop()
        stop.set()
        if readers:
            await asyncio.wait(readers, timeout=DRAIN_SECONDS)
        # a reader ends its own tasks in the same way, and needs the time for it
        await cancel_all((*readers, *watchers), again_seconds=5 * REPEAT_SECONDS)

    worker = Worker(broker, logger=None, on_startup=[wait_ready], after_startup=[start], on_shutdown=[end])
    worker.niceness, worker.hang_seconds, worker.health = settings.niceness, settings.hang_seconds, health
    return worker


def run(create_app: Callable[[], FastStream]) -> NoReturn:
    """Run the application and exit: 0 after SIGTERM, 78 after invalid settings, else 1."""
    try:
        app = create_app()
    except InvalidInputError as error:
        sys.stderr.write(f"bad configuration: {error}\n")
        sys.exit(CONFIG_ERROR_EXIT)
    except HelixError as error:
        _log.error("cannot start", reason=str(error))
        sys.exit(FAILURE_EXIT)
    resume_garbage_collection()
    hang_seconds = Worker.hang_seconds
    if isinstance(app, Worker):
        lower_process_priority(app.niceness)
        hang_seconds = app.hang_seconds
    try:
        asyncio.run(watched(app.run(), hang_seconds=hang_seconds))
    except (HelixError, *UNANSWERED) as error:
        _log.error("cannot start", reason=connection.reason_of(error))
        sys.exit(FAILURE_EXIT)
    failure = app.failure if isinstance(app, Worker) else ""
    if failure:
        _log.error("process ended", reason=failure)
    sys.exit(FAILURE_EXIT if failure else 0)


def _reason(error: BaseException) -> str:
    """Its message; of an error that is not one of Helix also its type, of a group of errors the first."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, HelixError):
        return str(error)
    return f"{type(error).__name__}: {error}"
