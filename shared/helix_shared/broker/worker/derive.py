"""Derives one message on an edge from each memories message; used by doc2query and kg.

Consolidation counts on exactly one derived message per memories message. It is therefore published without
rows when nothing is derived, and when deriving failed for good. Rows that only complete the context of an
earlier turn (`revision_sequence` above `stream_sequence`) are skipped, because their text has not changed. A
memories message of an older release cannot be read: ingest derives it again from its event.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from helix_memory import subjects
from helix_shared import edges
from helix_shared.broker import deadline
from helix_shared.broker.worker.derived import DerivedMessage
from helix_shared.broker.worker.lanes import Lanes
from helix_shared.broker.worker.rederive import (
    Rederived,
    is_redrive,
    request_derivation,
    requested_sequence,
)
from helix_shared.broker.worker.worker import (
    Connected,
    Durable,
    Worker,
    create_broker,
    create_worker,
    subscribe,
)
from helix_shared.errors import IncompatibleError, OutdatedError, PermanentError, TemporaryError
from helix_shared.telemetry.logs import configure_logging, logger

if TYPE_CHECKING:
    import pyarrow as pa
    from faststream.nats import NatsBroker
    from nats.aio.msg import Msg

    from helix_shared.settings import BrokerSettings

MEMORIES = "memories"
_SEQUENCES = ("stream_sequence", "revision_sequence")

_log = logger(__name__)

T = TypeVar("T")
Row = Mapping[str, Any]
DeriveRows = Callable[[Row], Sequence[dict[str, Any]]]
SelectRows = Callable[[Sequence[Row], list[dict[str, Any]]], list[dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class Derivation:
    """How rows are derived: `derive` turns one memory row into rows of `schema` on `edge`.

    `select`, if given, gets the memory rows and all derived rows of a message and returns those to publish.

    Only `columns` are decoded, because a vector costs more than all other columns. `version` is part of the
    message id: with a new one, a changed worker can publish again for the same event.
    """

    edge: str
    version: str
    schema: pa.Schema
    columns: tuple[str, ...]
    derive: DeriveRows
    select: SelectRows | None = None

    async def handle(self, message: Msg, connected: Connected) -> None:
        """Derive from every new row and publish the result.

        Raises:
            PermanentError: the body is not a memories message of the subject's tenant.
            IncompatibleError: a worker of another release made it, and ingest does not derive it again.
            TemporaryError: the stream does not acknowledge.
        """

        async def derive(body: bytes) -> DerivedMessage:
            return await connected.lanes.run(self.derived_message, message.subject, body)

        await _redriven(await _read_current(message, connected, derive), message).publish(connected.publisher)

    def derived_message(self, subject: str, body: bytes) -> DerivedMessage:
        """The message derived from a memories message. Runs in a lane.

        Raises:
            PermanentError: the body is not a memories message of the subject's tenant.
        """
        origin, rows = read_memories(subject, body, self.columns)
        made = [derived for row in rows for derived in self.derive(row)]
        return self._message(origin, made if self.select is None else self.select(rows, made))

    def without_rows(self, origin: edges.Origin) -> DerivedMessage:
        """The message where nothing is derived from the memories of `origin`."""
        return self._message(origin, [])

    async def rederive(self, request: Msg, connected: Connected) -> Rederived:
        """Derive again from the memories message in a request; without rows if that fails for good.

        Raises:
            PermanentError: it fails for good, and the request is that of a redrive.
        """
        origin, _ = edges.decode(request.data)
        try:
            subject = subjects.derived_subject(MEMORIES, origin.tenant_id)
            return (await connected.lanes.run(self.derived_message, subject, request.data)).rederived
        except PermanentError:
            if is_redrive(request):
                raise
            # without the reason, which may quote the event
            _log.warning("nothing derived again", edge=self.edge, sequence=origin.event_sequence)
            return self._message(origin, []).rederived

    async def on_dead_letter(self, message: Msg, connected: Connected) -> None:
        """Publish the empty message that consolidation waits for, if the origin can be read."""

        async def origin_in(body: bytes) -> edges.Origin:
            return read_memories(message.subject, body, ())[0]

        try:
            origin = await _read_current(message, connected, origin_in)
        except PermanentError:
            sequence = message.metadata.sequence.stream
            _log.warning("no empty message without an origin", edge=self.edge, sequence=sequence)
        else:
            await _redriven(self._message(origin, []), message).publish(connected.publisher)

    def _message(self, origin: edges.Origin, rows: list[dict[str, Any]]) -> DerivedMessage:
        return DerivedMessage.of(replace(origin, edge=self.edge), rows, self.schema, version=self.version)


def _redriven(derived: DerivedMessage, memories: Msg) -> DerivedMessage:
    """`derived` as often redriven as the memories message it comes from, so that it is no repetition."""
    return replace(derived, redrives=subjects.header_number(memories.headers, subjects.REDRIVE_HEADER))


async def _read_current(message: Msg, connected: Connected, read: Callable[[bytes], Awaitable[T]]) -> T:
    """Apply `read` to a memories message; if its release is older, to the one that ingest derives again."""
    try:
        return await read(message.data)
    except OutdatedError as outdated:
        try:
            # ingest processes requests one at a time
            with deadline.suspended():
                memories = await request_derivation(
                    connected.client, MEMORIES, sequence=requested_sequence(message)
                )
        except TemporaryError as error:
            raise IncompatibleError(f"{outdated}; {error}") from error
        return await read(memories.body)


def wire(broker: NatsBroker, derivation: Derivation, settings: BrokerSettings, *, service: str) -> Durable:
    """Subscribe `derivation` to the memories edge; the durable has the service's name."""
    return subscribe(
        broker,
        stream=subjects.DERIVED_STREAM,
        durable=service,
        subject=subjects.derived_edge(MEMORIES),
        service=service,
        handle=derivation.handle,
        lanes=Lanes(1),
        on_dead_letter=derivation.on_dead_letter,
        edge=derivation.edge,
        rederive=derivation.rederive,
        deadline_seconds=settings.deadline_seconds,
        ack_wait_seconds=settings.ack_wait_seconds,
        publish_timeout_seconds=settings.publish_timeout_seconds,
    )


def create_deriving_worker(derivation: Derivation, settings: BrokerSettings, *, service: str) -> Worker:
    """The application of a worker that only derives, wired but not connected."""
    configure_logging(log_format=settings.log_format, level=settings.log_level, service=service)
    broker = create_broker(settings, service=service)
    durable = wire(broker, derivation, settings, service=service)
    return create_worker(broker, [durable], settings, service=service)


def read_memories(subject: str, body: bytes, columns: Sequence[str]) -> tuple[edges.Origin, list[Row]]:
    """The origin, and `columns` of the rows whose text is new with this message.

    Raises:
        IncompatibleError: a worker of another release made it.
        PermanentError: not a memories message, or of another tenant than its subject.
    """
    origin, batch = edges.decode(body)
    if origin.edge != MEMORIES or subject != subjects.derived_subject(MEMORIES, origin.tenant_id):
        raise PermanentError(f"message of {origin.tenant_id}/{origin.edge} has the subject {subject}")
    expected = edges.memories_schema(1)
    try:
        wanted = batch.select([*dict.fromkeys((*columns, *_SEQUENCES))])
        if any(wanted.schema.field(name).type != expected.field(name).type for name in wanted.schema.names):
            raise IncompatibleError("memories message has other column types; run one release everywhere")
    except KeyError as error:
        reason = f"memories message lacks a column ({error}); run one release everywhere"
        raise IncompatibleError(reason) from error
    try:
        rows: list[Row] = wanted.to_pylist()
    except ValueError as error:
        raise PermanentError("memories message holds invalid text") from error
    return origin, [row for row in rows if row["revision_sequence"] == row["stream_sequence"]]
