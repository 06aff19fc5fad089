"""`helix status`: the state of NATS and of the query service; a part that is down does not hide the other."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from helix_cli.clients.broker import jetstream_of, run_async
from helix_cli.clients.broker_status import BrokerStatus, broker_status
from helix_cli.clients.query_status import AccessStatus, LearnedAdapterStatus, QueryStatus, query_status
from helix_cli.clients.writer_status import WriterStatus, wait_for_writer
from helix_cli.commands.common import options
from helix_cli.commands.common.broker_tables import consumers_table, streams_table
from helix_cli.commands.common.lines.deep import deep_lines
from helix_cli.commands.common.lines.object_storage import replica_line, upload_line
from helix_cli.commands.common.query_options import Principals, User
from helix_cli.commands.group import help_text
from helix_cli.home.addresses import Server, nats_server, query_server
from helix_cli.home.folder import HomeFolder
from helix_cli.home.record import METRICS_RECORD, running_record
from helix_cli.output.exit_codes import EXIT_CODES, UNREACHABLE_EXIT
from helix_cli.output.terminal import note, plain, stdout
from helix_cli.stack.gateway_status import GatewayStatus, gateway_status
from helix_memory import subjects
from helix_shared.artifacts.object_storage.record import UploadRecord
from helix_shared.broker.provisioning.drift import ADVICE
from helix_shared.broker.streams import CONSOLIDATION_ACCESS
from helix_shared.encoders.model import read_card
from helix_shared.encoders.store import MINILM, folder_with_checksum

if TYPE_CHECKING:
    from helix_cli.clients.deep_check import DeepCheck

HELP: Final = f"""
[bold]Examples[/bold]

  helix status
  helix status --json | jq .lag
  helix status --deep --tenant acme

lag is the number of events that are published but not yet recallable,
access_lag that of accesses that are not counted yet.

The command ends with 3, and names the part, when a part is down, the writer
is blocked, or a setting of a stream is not as `helix provision` wants it.
When no process is the writer, it waits for one for up to 10 seconds.

--deep reads the newest generation of each shard in the data folder of this
machine and compares vector search with exact search: the dense channel for
the largest tenant, and the vector index for all memories. It takes seconds
for a million memories.

With --tenant (and --user, --principal) it also tells whether the graph pays
for this caller. It makes up to 120 questions of several hops, each of two
memories that share a name, and recalls them with the graph and without it,
in at most half a minute. Below 30 questions of a form there is no verdict.

{EXIT_CODES}
"""

app = typer.Typer(add_completion=False)


@app.command(help=help_text("status", HELP))
def status_command(
    *,
    as_json: options.AsJson = False,
    nats: options.Nats = "",
    query: options.Query = "",
    home: options.Home = options.DEFAULT_HOME,
    deep: Annotated[bool, typer.Option("--deep", help="Measure vector search and the graph.")] = False,
    data: Annotated[
        Path | None, typer.Option(help="--deep: folder of the generations; by default home/data.")
    ] = None,
    models: Annotated[
        Path | None, typer.Option(help="--deep: folder of the models; by default home/models.")
    ] = None,
    tenant: options.Tenant = "",
    user: User = "",
    principal: Principals = None,
) -> None:
    """Show the status."""
    server = nats_server(nats, home, wait=False)
    broker = run_async(broker_status(server.address, server.instance, server.nats))
    asked = query_server(query, home, wait=False)
    service = query_status(asked.address, asked.instance, asked.calls, now=datetime.now(UTC))
    gateway = None if nats or query else gateway_status(home)
    if not (broker.problem or service.problem or broker.writer.has_lease):
        note("no process is the writer at the moment; waiting for one")
        broker = replace(broker, writer=run_async(_next_writer(server)))
    folder = HomeFolder.at(home)
    record = running_record(folder)
    metrics = {} if record is None else dict(record.metrics)
    folders = [data] if data else [folder.data_of(shard) for shard in range(folder.shards)]
    uploads = [found for one in folders if (found := UploadRecord.read(one)).url]
    measured = _check_deep(folders, models or folder.models, tenant, user, principal or []) if deep else None
    if as_json:
        added = {"metrics": metrics} | ({} if measured is None else asdict(measured))
        added["buckets"] = [one.model_dump(mode="json", exclude={"manifests"}) for one in uploads]
        typer.echo(json.dumps(summary(broker, service, gateway) | added, indent=2))
    else:
        _print(broker, service, gateway, _fitted_elsewhere(service, models or folder.models))
        for upload in uploads:
            stdout().print(plain(upload_line(upload)))
        if metrics:
            lines = [f"{name} http://{address}/metrics" for name, address in metrics.items()]
            lines.append(f"targets for Prometheus: {folder.run / METRICS_RECORD}")
            stdout().print(plain("metrics " + "\n        ".join(lines)))
        if measured is not None:
            stdout().print(plain(deep_lines(measured)))
    has_problem = broker.problem or service.problem or (gateway is not None and gateway.problem)
    if has_problem or broker.differences or not broker.writer.writes:
        raise typer.Exit(UNREACHABLE_EXIT)


def summary(broker: BrokerStatus, service: QueryStatus, gateway: GatewayStatus | None) -> dict[str, object]:
    """The parts as the JSON of `--json`; the gateway is null where the home runs none."""
    return {
        "nats": asdict(broker),
        "query": asdict(service),
        "gateway": None if gateway is None else asdict(gateway),
        "lag": lag(broker, service),
        "access_lag": access_lag(broker, service),
        "dead_letters": _dead_letters(broker),
    }


def lag(broker: BrokerStatus, service: QueryStatus) -> int | None:
    """Events published but not in the served generation; None while a part is down."""
    log = broker.stream(subjects.EVENTS_STREAM)
    if log is None or service.problem:
        return None
    return max(0, log.last_sequence - service.applied_sequence)


def access_lag(broker: BrokerStatus, service: QueryStatus) -> int | None:
    """Accesses in the query service and messages about accesses that no generation holds; None: unknown."""
    rows = [row for row in broker.consumers if row.name.startswith(CONSOLIDATION_ACCESS)]
    if not rows or service.accesses is None:
        return None
    # each shard reads all of them
    return service.accesses.waiting + max(row.pending + row.ack_pending for row in rows)


def _check_deep(
    folders: list[Path], models: Path, tenant: str, user: str, principals: list[str]
) -> DeepCheck:
    from helix_cli.clients.deep_check import check_deep  # noqa: PLC0415  the engines are slow to import
    from helix_shared.artifacts.filter.selection import Selection  # noqa: PLC0415

    return check_deep(folders, models, Selection(tenant, user, tuple(principals)) if tenant else None)


async def _next_writer(server: Server) -> WriterStatus:
    async with jetstream_of(server) as jetstream:
        return await wait_for_writer(jetstream)


def _dead_letters(broker: BrokerStatus) -> int | None:
    row = broker.stream(subjects.DLQ_STREAM)
    return None if row is None else row.messages


def _fitted_elsewhere(service: QueryStatus, models: Path) -> list[str]:
    """What was fitted for another model than the one of the generation, where that is installed here.

    `MINILM` is what everything that is shipped was fitted for.
    """
    folder = folder_with_checksum(models, service.model_checksum) if service.model_checksum else None
    if folder is None or folder.name == MINILM:
        return []
    from helix_cli.commands.common.lines.fitted import fitted_elsewhere  # noqa: PLC0415  slow to import

    return fitted_elsewhere(read_card(folder)).lines("model")


def _print(
    broker: BrokerStatus, service: QueryStatus, gateway: GatewayStatus | None, fitted: list[str]
) -> None:
    console = stdout()
    console.print(plain(f"nats   {broker.url}  {broker.problem or 'ok'}"))
    if broker.streams:
        console.print(streams_table(broker.streams))
    if broker.consumers:
        console.print(consumers_table(broker.consumers))
    if not broker.problem:
        differing = [f"differs {difference}; {ADVICE}" for difference in broker.differences]
        console.print(plain("\n".join([f"writer {broker.writer}", *differing])))
    if broker.endpoint is not None or broker.has_endpoint:
        console.print(plain(f"llm    {broker.endpoint or 'provisioned, nothing asked yet'}"))
    _print_query(service, fitted)
    if gateway is not None:
        console.print(plain(f"gateway {gateway.url}  {gateway.problem or 'ok'}"))
    behind = lag(broker, service)
    if behind is not None:
        console.print(f"lag    {behind} events published but not yet recallable")
    if service.accesses is not None:
        console.print(plain(f"access {_accesses(service.accesses, access_lag(broker, service))}"))
    if _dead_letters(broker):
        console.print(f"dead letters: {_dead_letters(broker)}; see `helix dlq ls`")


def _print_query(service: QueryStatus, fitted: list[str]) -> None:
    console = stdout()
    console.print(plain(f"query  {service.address}  {service.problem or 'ok'}"))
    if not service.problem:
        console.print(plain("\n".join([_served(service), *(f"       {line}" for line in fitted)])))
        for model, profiles in service.cross_encoders.items():
            console.print(plain(f"       cross-encoder {model} on in {', '.join(profiles)}"))


def _served(service: QueryStatus) -> str:
    replica = (
        "" if service.replica is None else f"\n       {replica_line(service.replica, service.generation)}"
    )
    if not service.generation:
        return f"       no generation yet, model {service.model or 'none'}{replica}"
    age = "" if service.age_seconds is None else f", {service.age_seconds:.0f} s old"
    decayed = f" ({service.decayed} more hidden by decay)" if service.decayed else ""
    shards = (
        f"       shard {one.shard}: generation {one.generation}, applied to sequence {one.applied_sequence}, "
        f"{one.memories} memories\n"
        for one in (service.shards if len(service.shards) > 1 else ())
    )
    return (
        f"       generation {service.generation}{age}, applied to sequence {service.applied_sequence}\n"
        f"{''.join(shards)}"
        f"       {service.memories} memories{decayed}, {service.entities} entities, {service.edges} edges\n"
        f"       model {service.model} ({service.model_checksum[:12]})"
        f"{_learned(service.learned_adapters)}{replica}"
    )


def _learned(status: LearnedAdapterStatus | None) -> str:
    """A line about learned adapters; empty if there are none."""
    if status is None:
        return ""
    refused = f", {status.refused} not used: of another model, or damaged" if status.refused else ""
    return f"\n       {status.fitting} learned query adapters{refused}"


def _accesses(accesses: AccessStatus, behind: int | None) -> str:
    reader = "forwarder ok" if accesses.forwarders else "no forwarder reads"
    waiting = accesses.waiting if behind is None else behind
    return f"{reader}, {waiting} not counted yet, {accesses.dropped} dropped"
