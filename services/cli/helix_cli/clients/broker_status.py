"""Status of NATS: streams, consumers and the writer's lease."""

from __future__ import annotations

from dataclasses import dataclass, field

from nats.js import JetStreamContext
from nats.js.errors import NotFoundError as NoStreamError

from helix_cli.clients.broker import connected
from helix_cli.clients.endpoint_status import EndpointStatus, endpoint_status
from helix_cli.clients.writer_status import WriterStatus, writer_status
from helix_memory.transport.credentials import NatsCredentials, shown
from helix_shared.broker import streams
from helix_shared.broker.provisioning import drift
from helix_shared.broker.shard_bucket import read_map
from helix_shared.errors import HelixError


@dataclass(frozen=True, slots=True)
class StreamRow:
    """One stream."""

    name: str
    messages: int
    bytes: int
    first_sequence: int
    last_sequence: int


@dataclass(frozen=True, slots=True)
class ConsumerRow:
    """One durable consumer: `pending` not delivered yet, `ack_pending` being worked on."""

    stream: str
    name: str
    pending: int
    ack_pending: int
    redelivered: int


@dataclass(frozen=True, slots=True)
class BrokerStatus:
    """Status of NATS; `problem` is empty when it answers and is provisioned."""

    url: str
    problem: str = ""
    streams: list[StreamRow] = field(default_factory=list)
    consumers: list[ConsumerRow] = field(default_factory=list)
    writer: WriterStatus = field(default_factory=WriterStatus)
    endpoint: EndpointStatus | None = None
    """None where no language model was ever asked."""
    differences: list[str] = field(default_factory=list)
    """Settings of streams and consumers that are not as provisioning wants them."""

    @property
    def has_endpoint(self) -> bool:
        """Whether the worker that asks a language model is provisioned."""
        return any(row.name == streams.EXTRACT for row in self.consumers)

    def stream(self, name: str) -> StreamRow | None:
        """The row of one stream."""
        return next((row for row in self.streams if row.name == name), None)


async def broker_status(url: str, instance: str, credentials: NatsCredentials | None = None) -> BrokerStatus:
    """Ask NATS at `url`; its errors end up in `problem`."""
    try:
        async with connected(url, instance=instance, credentials=credentials) as jetstream:
            rows = [await _stream(jetstream, str(config.name)) for config in streams.STREAMS]
            wanted = streams.consumers_of((await read_map(jetstream)).shards)
            consumers = [await _consumer(jetstream, c.stream, c.name) for c in wanted]
            writer = await writer_status(jetstream)
            endpoint = await endpoint_status(jetstream)
            differences = [str(one) for one in await drift.differences(jetstream)]
            optional = [await _consumer(jetstream, c.stream, c.name) for c in streams.ENDPOINT_CONSUMERS]
    except HelixError as error:
        return BrokerStatus(shown(url), problem=str(error))
    missing = "" if all(rows) and all(consumers) else "streams are missing; run `helix provision`"
    known, found = [row for row in rows if row], [row for row in (*consumers, *optional) if row]
    return BrokerStatus(shown(url), missing, known, found, writer, endpoint, differences)


async def _stream(jetstream: JetStreamContext, name: str) -> StreamRow | None:
    try:
        state = (await jetstream.stream_info(name)).state
    except NoStreamError:
        return None
    return StreamRow(name, state.messages, state.bytes, state.first_seq, state.last_seq)


async def _consumer(jetstream: JetStreamContext, stream: str, name: str) -> ConsumerRow | None:
    try:
        info = await jetstream.consumer_info(stream, name)
    except NoStreamError:
        return None
    return ConsumerRow(
        stream, name, info.num_pending or 0, info.num_ack_pending or 0, info.num_redelivered or 0
    )
