"""`helix memory history`: shows what a memory replaced, what replaced it, and why."""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from helix_cli.commands.common import options, query_options
from helix_cli.commands.common.hints import with_owner_hint
from helix_cli.commands.common.memory_ids import whole_ids
from helix_cli.commands.memory.arguments import MemoryId, Principals, User
from helix_cli.commands.memory.state import LEAST_SHOWN, is_improbable
from helix_cli.home.addresses import query_server
from helix_cli.home.query_client import query_client
from helix_cli.output.terminal import ID_CHARACTERS, plain, print_message, stdout
from helix_cli.output.time_zone import chosen_zone
from helix_memory.recall.v1 import recall_pb2
from helix_shared.errors import NotFoundError

if TYPE_CHECKING:
    from datetime import datetime, tzinfo

    from google.protobuf.timestamp_pb2 import Timestamp  # type: ignore[import-untyped] # stubs are a namespace


def history_command(
    memory_id: MemoryId,
    *,
    tenant: options.Tenant = "",
    user: User = "",
    principal: Principals = None,
    every: Annotated[
        bool, typer.Option("--all", help=f"Also show relations with a probability below {LEAST_SHOWN:g}.")
    ] = False,
    tz: query_options.Zone = "",
    as_json: options.AsJson = False,
    query: options.Query = "",
    home: options.Home = options.DEFAULT_HOME,
) -> None:
    """Show what a memory replaced, what replaced it, and why."""
    zone = chosen_zone(tz)
    server = query_server(query, home)
    scope = query_options.scope_of(tenant, user, principal)
    [memory_id] = whole_ids([memory_id], scope, lambda: server)
    with query_client(server) as client:
        try:
            reply = client.history(recall_pb2.GetHistoryRequest(scope=scope, memory_id=memory_id))
        except NotFoundError as error:
            raise with_owner_hint(error, scope) from error
    if as_json:
        print_message(reply)
        return
    weak = 0 if every else _drop_weak(reply, memory_id)
    console = stdout()
    console.print(_memories(reply, memory_id, zone))
    if reply.relations:
        console.print(_relations(reply))
    if weak:
        console.print(f"{weak} with a probability below {LEAST_SHOWN:g} left out; --all shows them")
    if reply.truncated:
        console.print("there are more memories than are shown")
    console.print("ids are cut here, which commands take too; --json prints them whole")


def _drop_weak(reply: recall_pb2.GetHistoryResponse, asked: str) -> int:
    """Remove the weak relations, and what only they connect to the memory; how many relations those were."""
    strong = [one for one in reply.relations if not is_improbable(one)]
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
        effect = "closed" if one.closed else "" if one.counts else "ignored"
        table.add_row(
            one.newer_id[:ID_CHARACTERS],
            one.relation,
            one.older_id[:ID_CHARACTERS],
            f"{one.probability:.2f}",
            effect,
            plain(", ".join(f"{spoke.name} {spoke.value:.2f}" for spoke in one.evidence)),
        )
    return table
