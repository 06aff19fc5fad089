"""`helix memory`: the history of one memory, and taking back how it was related to others."""

from __future__ import annotations

from typing import Annotated, Final

import typer
from google.protobuf import json_format  # type: ignore[import-untyped] # stubs are a namespace package
from rich.table import Table

from helix_cli.clients.recall_client import RecallClient
from helix_cli.commands.common import options
from helix_cli.commands.common.publishing import publish_items, report, wait_for
from helix_cli.commands.group import COMMANDS
from helix_cli.commands.publish import one_event
from helix_cli.output.exit_codes import FAILED_EXIT
from helix_cli.output.terminal import plain, stdout
from helix_cli.output.time_zone import local_now
from helix_cli.stack.addresses import nats_server, query_server
from helix_memory.recall.v1 import recall_pb2

_ID_CHARACTERS: Final = 8
"""Of an id in a table; `--json` has whole ids."""

app = typer.Typer(help=COMMANDS["memory"].summary, no_args_is_help=True, add_completion=False)

MemoryId = Annotated[str, typer.Argument(help="Id of the memory, as `helix recall --json` prints it.")]
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
    as_json: options.AsJson = False,
    query: options.Query = "",
    home: options.Home = options.DEFAULT_HOME,
) -> None:
    """Show what a memory replaced, what replaced it, and why."""
    server = query_server(query, home)
    scope = recall_pb2.Scope(tenant_id=tenant, user_id=user, principals=principal or [])
    with RecallClient(server.address, instance=server.instance) as client:
        reply = client.history(recall_pb2.GetHistoryRequest(scope=scope, memory_id=memory_id))
    if as_json:
        typer.echo(json_format.MessageToJson(reply, preserving_proto_field_name=True))
        return
    console = stdout()
    console.print(_memories(reply, memory_id))
    if reply.relations:
        console.print(_relations(reply))
    if reply.truncated:
        console.print("there are more memories than are shown")


@app.command("undo")
def undo_command(
    memory_id: MemoryId,
    *,
    other: Annotated[
        str, typer.Option("--other", help="Take back only the relation to this memory; else all.")
    ] = "",
    tenant: options.Tenant = "",
    user: User = "",
    acl: Annotated[list[str] | None, typer.Option("--acl", help="Principal; may be repeated.")] = None,
    wait: options.Wait = False,
    wait_seconds: options.WaitSeconds = 60.0,
    as_json: options.AsJson = False,
    nats: options.Nats = "",
    query: options.Query = "",
    home: options.Home = options.DEFAULT_HOME,
) -> None:
    """Take back how a memory was related to others: what it closed holds again, for good."""
    fields = {"user_id": user, "set": [f"memory_id={memory_id}", *([f"other={other}"] if other else [])]}
    event = one_event({**fields, "acl": acl}, tenant=tenant, kind="undo", role="", now=local_now())
    tally = publish_items([event], server=nats_server(nats, home), in_flight=1, as_json=as_json, total=1)
    report(tally, as_json=as_json)
    if wait and tally.last_sequence:
        wait_for(tally.last_sequence, query_server(query, home), wait_seconds, quiet=as_json)
    if tally.refusals:
        raise typer.Exit(FAILED_EXIT)


def _memories(reply: recall_pb2.GetHistoryResponse, asked: str) -> Table:
    table = Table("id", "occurred", "valid to", "text")
    for memory in reply.memories:
        ended = memory.valid_to.ToDatetime().isoformat(" ", "minutes") if memory.HasField("valid_to") else ""
        occurred = memory.occurred_at.ToDatetime().isoformat(" ", "minutes")
        mark = "* " if memory.memory_id == asked else ""
        table.add_row(mark + memory.memory_id[:_ID_CHARACTERS], occurred, ended, plain(memory.text))
    return table


def _relations(reply: recall_pb2.GetHistoryResponse) -> Table:
    table = Table("newer", "relation", "older", "probability", "effect", "evidence")
    for one in reply.relations:
        effect = "closed" if one.closed else "" if one.counts else "void"
        table.add_row(
            one.newer_id[:_ID_CHARACTERS],
            one.relation,
            one.older_id[:_ID_CHARACTERS],
            f"{one.probability:.2f}",
            effect,
            plain(", ".join(f"{spoke.name} {spoke.value:.2f}" for spoke in one.evidence)),
        )
    return table
