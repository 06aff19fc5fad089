"""`helix memory`: the history of a memory, forgetting and restoring it, and undoing its relations."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from google.protobuf import json_format  # type: ignore[import-untyped] # stubs are a namespace package
from rich.table import Table

from helix_cli.clients.recall_client import RecallClient
from helix_cli.commands.common import options
from helix_cli.commands.common.hints import with_owner_hint
from helix_cli.commands.common.memory_ids import ENOUGH, whole_ids, with_whole_ids
from helix_cli.commands.common.publishing import Waiting, conclude, publish_items
from helix_cli.commands.group import COMMANDS
from helix_cli.commands.publish import one_event
from helix_cli.output.terminal import ID_CHARACTERS, plain, stdout
from helix_cli.output.time_zone import local_now, machine_zone, zone_of
from helix_cli.stack.addresses import nats_server, query_server
from helix_memory.recall.v1 import recall_pb2
from helix_shared.errors import NotFoundError

if TYPE_CHECKING:
    from datetime import datetime, tzinfo

    from google.protobuf.timestamp_pb2 import Timestamp  # type: ignore[import-untyped] # stubs are a namespace

LEAST_SHOWN: Final = 0.2
"""Least probability of a relation in the tables; `--all` shows the others, too, and `--json` has all."""

app = typer.Typer(help=COMMANDS["memory"].summary, no_args_is_help=True, add_completion=False)

_ID_HELP: Final = f"as `helix recall --json` prints it, or {ENOUGH}."
MemoryId = Annotated[str, typer.Argument(help=f"Id of the memory, {_ID_HELP}")]
MemoryIds = Annotated[list[str], typer.Argument(help=f"Id of a memory, {_ID_HELP} Several may be given.")]
Acl = Annotated[list[str] | None, typer.Option("--acl", help="Principal; may be repeated.")]
User = Annotated[str, typer.Option("--user", help="User for whom you act; without one, the tenant.")]
Principal = Annotated[
    list[str] | None, typer.Option("--principal", help="Principal of the caller; may be repeated.")
]


@app.command("history")
def history_command(
    memory_id: MemoryId,
    *,
    tenant: options.Tenant = "",
    user: User = "",
    principal: Principal = None,
    every: Annotated[
        bool, typer.Option("--all", help=f"Also show relations with a probability below {LEAST_SHOWN:g}.")
    ] = False,
    as_json: options.AsJson = False,
    query: options.Query = "",
    home: options.Home = options.DEFAULT_HOME,
) -> None:
    """Show what a memory replaced, what replaced it, and why."""
    server = query_server(query, home)
    scope = recall_pb2.Scope(tenant_id=tenant, user_id=user, principals=principal or [])
    [memory_id] = whole_ids([memory_id], scope, lambda: server)
    with RecallClient(server.address, instance=server.instance) as client:
        try:
            reply = client.history(recall_pb2.GetHistoryRequest(scope=scope, memory_id=memory_id))
        except NotFoundError as error:
            raise with_owner_hint(error, scope) from error
    if as_json:
        typer.echo(json_format.MessageToJson(reply, preserving_proto_field_name=True))
        return
    weak = 0 if every else _drop_weak(reply, memory_id)
    console = stdout()
    console.print(_memories(reply, memory_id, zone_of(machine_zone())))
    if reply.relations:
        console.print(_relations(reply))
    if weak:
        console.print(f"{weak} with a probability below {LEAST_SHOWN:g} left out; --all shows them")
    if reply.truncated:
        console.print("there are more memories than are shown")
    console.print("ids are cut here, which commands take too; --json prints them whole")


@app.command("undo")
def undo_command(
    memory_ids: MemoryIds,
    *,
    other: Annotated[
        str, typer.Option("--other", help="Take back only the relation to this memory; else all.")
    ] = "",
    tenant: options.Tenant = "",
    user: User = "",
    acl: Acl = None,
    wait: options.Wait = False,
    wait_seconds: options.WaitSeconds = 60.0,
    as_json: options.AsJson = False,
    nats: options.Nats = "",
    query: options.Query = "",
    home: options.Home = options.DEFAULT_HOME,
) -> None:
    """Take back how memories were related to others: what they closed holds again, for good.

    A correction is taken back too: the version before holds again. Name the correction, or the first version
    to take back all its corrections. `helix memory restore` brings a correction back.
    """
    named = [{"memory_id": one, **({"other": other} if other else {})} for one in memory_ids]
    events = _Events("undo", tenant, user, acl, Addresses(nats, query, home))
    _publish(events, named, wait_seconds if wait else None, as_json=as_json)


@app.command("forget")
def forget_command(
    memory_ids: MemoryIds,
    *,
    tenant: options.Tenant = "",
    user: User = "",
    acl: Acl = None,
    wait: options.Wait = False,
    wait_seconds: options.WaitSeconds = 60.0,
    as_json: options.AsJson = False,
    nats: options.Nats = "",
    query: options.Query = "",
    home: options.Home = options.DEFAULT_HOME,
) -> None:
    """Hide memories from every answer; `helix memory restore` shows them again."""
    events = _Events("forget", tenant, user, acl, Addresses(nats, query, home))
    _publish(
        events, [{"memory_ids": [one]} for one in memory_ids], wait_seconds if wait else None, as_json=as_json
    )


@app.command("restore")
def restore_command(
    memory_ids: MemoryIds,
    *,
    tenant: options.Tenant = "",
    user: User = "",
    acl: Acl = None,
    wait: options.Wait = False,
    wait_seconds: options.WaitSeconds = 60.0,
    as_json: options.AsJson = False,
    nats: options.Nats = "",
    query: options.Query = "",
    home: options.Home = options.DEFAULT_HOME,
) -> None:
    """Show memories again that were forgotten, or that decay hides."""
    named = [{"memory_ids": [one], "restore": True} for one in memory_ids]
    events = _Events("forget", tenant, user, acl, Addresses(nats, query, home))
    _publish(events, named, wait_seconds if wait else None, as_json=as_json)


@dataclass(frozen=True, slots=True)
class Addresses:
    """The options that name servers."""

    nats: str
    query: str
    home: Path


@dataclass(frozen=True, slots=True)
class _Events:
    """What the events of one command have in common."""

    kind: str
    tenant: str
    user: str
    acl: list[str] | None
    addresses: Addresses


def _publish(
    events: _Events, named: list[dict[str, Any]], wait_seconds: float | None, *, as_json: bool
) -> None:
    """Publish one event for each of `named`, its own fields; none if an id of one is not known.

    `wait_seconds`: how long to wait until they are processed; None: do not wait.
    """
    at = events.addresses
    server = partial(query_server, at.query, at.home)
    whole = partial(with_whole_ids, server=server)
    items = []
    for fields in named:
        given = {"user_id": events.user, "acl": events.acl, **fields}
        items.append(
            one_event(given, tenant=events.tenant, kind=events.kind, role="", now=local_now(), whole=whole)
        )
    tracked, broker = wait_seconds is not None, nats_server(at.nats, at.home)
    tally = publish_items(
        items, server=broker, in_flight=1, as_json=as_json, total=len(items), tracked=tracked
    )
    waiting = None if wait_seconds is None else Waiting(server(), broker, wait_seconds)
    conclude(tally, waiting, as_json=as_json)


def _drop_weak(reply: recall_pb2.GetHistoryResponse, asked: str) -> int:
    """Remove the weak relations, and what only they connect to the memory; how many relations those were."""
    strong = [one for one in reply.relations if one.closed or one.probability >= LEAST_SHOWN]
    weak = len(reply.relations) - len(strong)
    related, known = {asked}, 0
    while len(related) > known:
        known = len(related)
        pairs = [{one.newer_id, one.older_id} for one in strong]
        related = related.union(*(pair for pair in pairs if pair & related))
    kept = [one for one in strong if one.newer_id in related]
    memories = [memory for memory in reply.memories if memory.memory_id in related]
    del reply.relations[:], reply.memories[:]
    reply.relations.extend(kept)
    reply.memories.extend(memories)
    return weak


def _memories(reply: recall_pb2.GetHistoryResponse, asked: str, zone: tzinfo) -> Table:
    table = Table("id", "occurred", "valid to", "text")
    for memory in reply.memories:
        ended = _minute(memory.valid_to, zone) if memory.HasField("valid_to") else ""
        occurred = _minute(memory.occurred_at, zone)
        mark = "* " if memory.memory_id == asked else ""
        table.add_row(mark + memory.memory_id[:ID_CHARACTERS], occurred, ended, plain(memory.text))
    return table


def _minute(timestamp: Timestamp, zone: tzinfo) -> str:
    """The minute in `zone`, without its offset."""
    moment: datetime = timestamp.ToDatetime(UTC)
    return f"{moment.astimezone(zone):%Y-%m-%d %H:%M}"


def _relations(reply: recall_pb2.GetHistoryResponse) -> Table:
    table = Table("newer", "relation", "older", "probability", "effect", "evidence")
    for one in reply.relations:
        effect = "closed" if one.closed else "" if one.counts else "undone"
        table.add_row(
            one.newer_id[:ID_CHARACTERS],
            one.relation,
            one.older_id[:ID_CHARACTERS],
            f"{one.probability:.2f}",
            effect,
            plain(", ".join(f"{spoke.name} {spoke.value:.2f}" for spoke in one.evidence)),
        )
    return table
