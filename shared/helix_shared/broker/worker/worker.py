"""The shell around a worker: FastStream's life cycle and connection, with settings that lose nothing.

ingest, doc2query and kg are this shell with their own handler. It starts only when the durable
consumer stands (`streams` provisions it), reconnects for ever, and ends the process with exit code
1 when its connection is closed for good or its consumer vanished, so that a supervisor starts it
anew. SIGTERM lets what is in work finish. How messages are fetched stands in `pull`, what becomes
of them in `verdict`, how answers are sent in `outbox`. A handler has a deadline (`deadline`), its threads are
`lanes`; when too many of them never come back, or the event loop stands still (`watchdog`), the process ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn, Protocol

from faststream import FastStream
from faststream.nats import NatsBroker
from nats.aio.msg import Msg
from nats.errors import Error as NatsError
from nats.js.errors import NotFoundError

from helix_shared.broker import connection, deadline, settlement
from helix_shared.broker.publisher import Publisher, Publishes
from helix_shared.broker.pull import pull
from helix_shared.broker.worker.lanes import Lanes
from helix_shared.broker.worker.outbox import Outbox
from helix_shared.broker.worker.rederive import derivation_responder
from helix_shared.broker.worker.startup import RequiredConsumer, wait_for_consumers
from helix_shared.broker.worker.watchdog import FAILURE_EXIT, watched
from helix_shared.errors import HelixError, InvalidInputError
from helix_shared.settings import CONFIG_ERROR_EXIT, BrokerSettings
from helix_shared.telemetry import STUCK_LANES, WORK_SECONDS, logger, serve_metrics

if TYPE_CHECKING:
    from nats.aio.client import Client

BATCH_MESSAGES: Final = 64
COLLECT_SECONDS: Final = 0.01
DRAIN_SECONDS: Final = 15.0
WATCH_SECONDS: Final = 2.0
LEAST_PRIORITY: Final = 19
MOST_STUCK: Final = 4
"""Lanes that do not come back from a handler; then the process ends, and its supervisor starts another."""

_log = logger(__name__)


@dataclass(frozen=True, slots=True)
class Durable:
    """The durable consumer a worker reads."""

    stream: str
    name: str
    subject: str = ""
    """What it must filter for; empty: whatever it does."""
    read: Callable[[asyncio.Event], Awaitable[None]] | None = None
    """Answers its messages until the event is set; None: the application reads it itself."""
    lanes: Lanes | None = None
    """The threads its handlers work in."""


@dataclass(frozen=True, slots=True)
class Connected:
    """What a handler may reach.

    The client (reading the log), the acknowledged publisher, and the lanes for all that needs a processor.
    """

    client: Client
    publisher: Publishes
    lanes: Lanes


class Handle(Protocol):
    """Handles one message; its errors decide the answer, see `verdict.answer`."""

    async def __call__(self, message: Msg, connected: Connected) -> None:
        """Return when the message is done with."""


Rederive = Callable[[Msg, Connected], Awaitable[bytes]]
"""Derives one message again; the request names the event, or holds what to derive from."""


class Worker(FastStream):
    """A FastStream application that knows why it ended."""

    failure: str = ""
    niceness: int = 0
    hang_seconds: float = 60.0

    def fail(self, reason: str) -> None:
        """End the process with `FAILURE_EXIT` after the running batch."""
        if not self.failure:
            _log.error("gives up", reason=reason)
        self.failure = self.failure or reason
        self.exit()


def create_broker(settings: BrokerSettings, *, service: str) -> NatsBroker:
    """A broker that reconnects for ever."""
    options = connection.connection_options(name=f"helix-{service}")
    return NatsBroker(settings.nats_url, **options, graceful_timeout=DRAIN_SECONDS, logger=None)


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
    """Have `handle` run for every message of a durable pull consumer; up to `batch_messages` at once.

    Handlers start in the order of delivery. Every message is answered by `verdict`: acknowledged,
    postponed or dead-lettered (after `on_dead_letter`, what the worker owes others even then). A handler that
    works for longer than `deadline_seconds` has failed. Meanwhile `rederive` answers requests to derive a
    message of `edge` again. Nothing is read before the application made of the returned consumer runs.
    """

    async def read(stop: asyncio.Event) -> None:
        client = broker.connection
        publisher = Publisher(client.jetstream(), timeout_seconds=publish_timeout_seconds)
        outbox = Outbox(client, publisher)
        connected = Connected(client, outbox, lanes)
        failures = settlement.Failures(is_ending=lambda: lanes.stuck >= MOST_STUCK)

        async def work(message: Msg) -> None:
            with outbox.expecting():
                await deadline.within(deadline_seconds, handle(message, connected))

        async def answer(message: Msg) -> None:
            with WORK_SECONDS.labels(service).time():
                await settlement.settle(
                    message,
                    work,
                    service=service,
                    publisher=publisher,
                    failures=failures,
                    on_dead_letter=None
                    if on_dead_letter is None
                    else functools.partial(on_dead_letter, connected=connected),
                )

        async with contextlib.AsyncExitStack() as beside:
            if rederive is not None:
                again = functools.partial(_within, deadline_seconds, rederive, connected)
                await beside.enter_async_context(derivation_responder(client, edge, again))
            await pull(
                client,
                answer,
                stop,
                stream=stream,
                durable=durable,
                most_in_work=batch_messages,
                collect_seconds=collect_seconds,
                ack_wait_seconds=ack_wait_seconds,
            )

    return Durable(stream, durable, subject, read, lanes)


async def _within(seconds: float, rederive: Rederive, connected: Connected, request: Msg) -> bytes:
    return await deadline.within(seconds, rederive(request, connected))


def create_worker(
    broker: NatsBroker,
    durables: Sequence[Durable],
    settings: BrokerSettings,
    *,
    service: str,
) -> Worker:
    """The application: waits for `durables`, reads them, serves metrics, watches itself.

    The settings' niceness is taken on when the application runs as a process of its own (`run`).
    """
    stop = asyncio.Event()
    wanted = [RequiredConsumer(durable.stream, durable.name, durable.subject) for durable in durables]
    readers: list[asyncio.Task[None]] = []
    watchers: list[asyncio.Task[None]] = []

    async def wait_ready() -> None:
        await wait_for_consumers(settings.nats_url, wanted, service=service)
        serve_metrics(settings.metrics_port)

    async def start() -> None:
        readers.extend(asyncio.create_task(_read(worker, durable, stop)) for durable in durables)
        watchers.append(asyncio.create_task(_watch(worker, broker.connection, durables, service)))
        _log.info("started", consumers=[durable.name for durable in durables])

    async def end() -> None:
        stop.set()
        if readers:
            await asyncio.wait(readers, timeout=DRAIN_SECONDS)
        for task in (*readers, *watchers):
            task.cancel()
        await asyncio.gather(*readers, *watchers, return_exceptions=True)

    worker = Worker(broker, logger=None, on_startup=[wait_ready], after_startup=[start], on_shutdown=[end])
    worker.niceness, worker.hang_seconds = settings.niceness, settings.hang_seconds
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
    hang_seconds = Worker.hang_seconds
    if isinstance(app, Worker):
        _lower_priority(app.niceness)
        hang_seconds = app.hang_seconds
    try:
        asyncio.run(watched(app.run(), hang_seconds=hang_seconds))
    except (HelixError, NatsError, OSError) as error:
        _log.error("cannot start", reason=str(error) or type(error).__name__)
        sys.exit(FAILURE_EXIT)
    failure = app.failure if isinstance(app, Worker) else ""
    if failure:
        _log.error("gave up", reason=failure)
    sys.exit(FAILURE_EXIT if failure else 0)


def _lower_priority(niceness: int) -> None:
    """Leave the cores to whoever has less niceness, with every thread there is.

    On Linux niceness is a thread's own and goes on to those it begins; engines began theirs when imported.
    """
    threads = Path("/proc/self/task")
    if not niceness:
        return
    if not threads.is_dir():
        os.nice(niceness)
        return
    wanted = min(os.getpriority(os.PRIO_PROCESS, 0) + niceness, LEAST_PRIORITY)
    for thread in threads.iterdir():
        with contextlib.suppress(ProcessLookupError):
            os.setpriority(os.PRIO_PROCESS, int(thread.name), wanted)


async def _read(worker: Worker, durable: Durable, stop: asyncio.Event) -> None:
    """Read a durable until `stop`; a reader that fails ends the process, its messages come again."""
    if durable.read is None:
        return
    try:
        await durable.read(stop)
    except Exception as error:  # noqa: BLE001  whatever it is, a worker that no longer reads must end
        _log.exception("reader failed", consumer=durable.name)
        worker.fail(f"reader of {durable.name} failed: {type(error).__name__}")


async def _watch(worker: Worker, client: Client, durables: Sequence[Durable], service: str) -> None:
    """Fail the worker when it can never receive again, or when its handlers do not come back.

    A server that is only away is waited for.
    """
    while not worker.failure:
        await asyncio.sleep(WATCH_SECONDS)
        stuck = sum(durable.lanes.stuck for durable in durables if durable.lanes is not None)
        STUCK_LANES.labels(service).set(stuck)
        if stuck >= MOST_STUCK:
            worker.fail(f"{stuck} threads did not come back from handlers that passed their deadline")
            return
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
