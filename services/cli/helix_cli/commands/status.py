"""`helix status`: one look at everything; a part that is down is named and the others still show."""

from __future__ import annotations

import contextlib
import json
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer
from nats.js.errors import NotFoundError as NoStreamError
from rich.table import Table

from helix_cli.clients.broker import connected
from helix_cli.clients.recall_client import RecallClient
from helix_cli.clients.writer_state import WriterPart, look_at_writer, wait_for_writer
from helix_cli.commands import options
from helix_cli.output.failure import EXIT_CODES, UNREACHABLE_EXIT, run_async
from helix_cli.output.terminal import note, plain, size, stdout
from helix_memory import subjects
from helix_query.diagnostics.dense_check import ChannelRecall, channel_recall, largest_tenant
from helix_query.diagnostics.index_recall import DenseRecall, dense_recall
from helix_shared.artifacts.generation.folders import current_number
from helix_shared.artifacts.generation.reader import Generation
from helix_shared.broker import streams
from helix_shared.errors import HelixError, NotFoundError

if TYPE_CHECKING:
    from nats.js import JetStreamContext

STATUS_SECONDS: Final = 3.0

HELP: Final = f"""Show streams, consumers, the served generation, and its lag.

[bold]Examples[/bold]

  helix status
  helix status --json | jq .lag
  helix status --deep

--deep reads the newest generation of this machine's data folder and tells
how much of exact search the dense channel finds for the largest tenant, and
how much the vector index does of everything; seconds for a million.

lag is how many events are published but not yet recallable. The command
ends with 3 when a part is down or the writer stands still, and names it.
Where no process is the writer it waits for one, 10 seconds at most.

{EXIT_CODES}
"""


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
class NatsPart:
    """What NATS says; `problem` is empty when it answers and is provisioned."""

    url: str
    problem: str = ""
    streams: list[StreamRow] = field(default_factory=list)
    consumers: list[ConsumerRow] = field(default_factory=list)
    writer: WriterPart = field(default_factory=WriterPart)

    def stream(self, name: str) -> StreamRow | None:
        """The row of one stream."""
        return next((row for row in self.streams if row.name == name), None)


@dataclass(frozen=True, slots=True)
class QueryPart:
    """What the query service says; `problem` is empty when it answers."""

    address: str
    problem: str = ""
    generation: int = 0
    age_seconds: float | None = None
    applied_sequence: int = 0
    derived_sequence: int = 0
    model: str = ""
    model_checksum: str = ""
    memories: int = 0
    entities: int = 0
    edges: int = 0
    uptime_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class VectorsPart:
    """What vector search finds of exact search, measured on a generation."""

    dense: DenseRecall
    """The vector index, over everything."""
    dense_channel: ChannelRecall | None
    """The dense channel, of the largest tenant; None: nobody in particular sees anything."""


def status_command(
    *,
    as_json: options.AsJson = False,
    nats: options.Nats = "",
    query: options.Query = "",
    home: options.Home = options.DEFAULT_HOME,
    deep: Annotated[bool, typer.Option("--deep", help="Measure vector search as well.")] = False,
    data: Annotated[
        Path | None, typer.Option(help="--deep: folder of the generations; by default home/data.")
    ] = None,
) -> None:
    """Show the status; the help text stands in `HELP`."""
    server = options.nats_server(nats, home, wait=False)
    broker = run_async(look_at_nats(server))
    service = look_at_query(options.query_server(query, home, wait=False), now=datetime.now(UTC))
    if not (broker.problem or service.problem or broker.writer.has_lease):
        note("no process is the writer at the moment; waiting for one")
        broker = replace(broker, writer=run_async(_writer(server)))
    measured = look_at_vectors(data or home.expanduser() / "data") if deep else None
    if as_json:
        vectors = {} if measured is None else asdict(measured)
        typer.echo(json.dumps(summary(broker, service) | vectors, indent=2))
    else:
        _print(broker, service)
        if measured is not None:
            stdout().print(plain(_dense(measured)))
    if broker.problem or service.problem or not broker.writer.writes:
        raise typer.Exit(UNREACHABLE_EXIT)


def summary(broker: NatsPart, service: QueryPart) -> dict[str, object]:
    """Both parts for programs."""
    return {
        "nats": asdict(broker),
        "query": asdict(service),
        "lag": lag(broker, service),
        "dead_letters": _dead_letters(broker),
    }


def lag(broker: NatsPart, service: QueryPart) -> int | None:
    """Events published but not in the served generation; None while a part is down."""
    log = broker.stream(subjects.EVENTS_STREAM)
    if log is None or service.problem:
        return None
    return max(0, log.last_sequence - service.applied_sequence)


async def look_at_nats(server: options.Server) -> NatsPart:
    """Streams and consumers; never raises because of NATS."""
    url = server.address
    try:
        async with connected(url, instance=server.instance) as jetstream:
            rows = [await _stream(jetstream, str(config.name)) for config in streams.STREAMS]
            consumers = [await _consumer(jetstream, c.stream, c.name) for c in streams.CONSUMERS]
            writer = await look_at_writer(jetstream)
    except HelixError as error:
        return NatsPart(url, problem=str(error))
    missing = "" if all(rows) and all(consumers) else "streams are missing; run `helix provision`"
    return NatsPart(url, missing, [row for row in rows if row], [row for row in consumers if row], writer)


def look_at_query(server: options.Server, *, now: datetime) -> QueryPart:
    """What is served; never raises because of the service."""
    address = server.address
    try:
        with RecallClient(address, call_seconds=STATUS_SECONDS, instance=server.instance) as client:
            reply = client.status()
    except HelixError as error:
        return QueryPart(address, problem=str(error))
    published = reply.published_at.ToDatetime(UTC) if reply.HasField("published_at") else None
    return QueryPart(
        address,
        generation=reply.generation,
        age_seconds=(now - published).total_seconds() if published and reply.generation else None,
        applied_sequence=reply.applied_sequence,
        derived_sequence=reply.derived_sequence,
        model=reply.model,
        model_checksum=reply.model_checksum,
        memories=reply.memories,
        entities=reply.entities,
        edges=reply.edges,
        uptime_seconds=reply.uptime_seconds,
    )


def look_at_vectors(root: Path) -> VectorsPart:
    """Vector search in the newest generation in `root`, measured.

    Raises:
        NotFoundError: there is no generation.
        CorruptArtifactError: it cannot be read.
    """
    number = current_number(root)
    if number is None:
        raise NotFoundError(f"no generation in {root}: give the data folder with --data")
    with contextlib.closing(Generation.open(root, number)) as generation:
        tenant = largest_tenant(generation.signals)
        return VectorsPart(
            dense_recall(generation.vectors, generation.signals),
            None if tenant is None else channel_recall(generation, tenant),
        )


async def _writer(server: options.Server) -> WriterPart:
    async with connected(server.address, instance=server.instance) as jetstream:
        return await wait_for_writer(jetstream)


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


def _dead_letters(broker: NatsPart) -> int | None:
    row = broker.stream(subjects.DLQ_STREAM)
    return None if row is None else row.messages


def _print(broker: NatsPart, service: QueryPart) -> None:
    console = stdout()
    console.print(plain(f"nats   {broker.url}  {broker.problem or 'ok'}"))
    if broker.streams:
        console.print(_streams_table(broker.streams))
    if broker.consumers:
        console.print(_consumers_table(broker.consumers))
    if not broker.problem:
        console.print(plain(f"writer {broker.writer}"))
    console.print(plain(f"query  {service.address}  {service.problem or 'ok'}"))
    if not service.problem:
        console.print(plain(_served(service)))
    behind = lag(broker, service)
    if behind is not None:
        console.print(f"lag    {behind} events published but not yet recallable")
    if _dead_letters(broker):
        console.print(f"dead letters: {_dead_letters(broker)}; see `helix dlq ls`")


def _served(service: QueryPart) -> str:
    if not service.generation:
        return f"       no generation yet, model {service.model or 'none'}"
    age = "" if service.age_seconds is None else f", {service.age_seconds:.0f} s old"
    return (
        f"       generation {service.generation}{age}, applied to sequence {service.applied_sequence}\n"
        f"       {service.memories} memories, {service.entities} entities, {service.edges} edges\n"
        f"       model {service.model} ({service.model_checksum[:12]})"
    )


def _dense(measured: VectorsPart) -> str:
    dense, channel = measured.dense, measured.dense_channel
    asked = (
        "nothing to search"
        if channel is None
        else f"recall@{channel.depth} {channel.recall:.3f} (worst {channel.worst:.2f}) against exact search, "
        f"{channel.queries} vectors of the largest tenant's {channel.memories} memories in sight"
    )
    found = "nothing to search" if dense.recall is None else f"recall@{dense.depth} {dense.recall:.3f}"
    index = (
        f"{dense.scan} index, {dense.nprobes} of {dense.partitions} partitions"
        if dense.partitions
        else "exact scan, no index"
    )
    return (
        f"dense  {asked}\n"
        f"index  {found} against exact search, mean of {dense.queries} stored vectors\n"
        f"       {index}, {dense.candidates} candidates\n"
        f"       {dense.unindexed_rows} of {dense.rows} rows outside the index\n"
        f"       {dense.scanned_dimensions} of {dense.dimensions} dimensions scanned, kept as {dense.storage}"
    )


def _streams_table(rows: list[StreamRow]) -> Table:
    table = Table("stream", "messages", "size", "first", "last", box=None, header_style="bold")
    for row in rows:
        table.add_row(
            row.name, str(row.messages), size(row.bytes), str(row.first_sequence), str(row.last_sequence)
        )
    return table


def _consumers_table(rows: list[ConsumerRow]) -> Table:
    table = Table("consumer", "pending", "in work", "redelivered", box=None, header_style="bold")
    for row in rows:
        table.add_row(row.name, str(row.pending), str(row.ack_pending), str(row.redelivered))
    return table
