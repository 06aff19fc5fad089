"""`helix session`: the sessions that are remembered, and what was said in one."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table

from helix_cli.commands.common import lists, options, query_options
from helix_cli.commands.common.hints import OWNED, with_owner_hint
from helix_cli.commands.group import COMMANDS
from helix_cli.home.addresses import query_server
from helix_cli.home.query_client import query_client
from helix_cli.output.exit_codes import EXIT_CODES
from helix_cli.output.terminal import note, plain, print_message, stdout
from helix_cli.output.time_zone import chosen_zone
from helix_memory.recall.v1 import recall_pb2
from helix_shared.errors import NotFoundError
from helix_shared.text.counted import counted

app = typer.Typer(help=COMMANDS["session"].summary, no_args_is_help=True, add_completion=False)


@app.command("ls", help=f"List sessions, the one with the newest memory first.\n\n{EXIT_CODES}")
def ls_command(
    *,
    tenant: options.Tenant = "",
    user: query_options.User = "",
    principal: query_options.Principals = None,
    limit: lists.Limit = 20,
    page: lists.Page = "",
    tz: query_options.Zone = "",
    as_json: options.AsJson = False,
    query: options.Query = "",
    home: options.Home = options.DEFAULT_HOME,
) -> None:
    """Ask for a page and print it."""
    zone = chosen_zone(tz)
    scope = query_options.scope_of(tenant, user, principal)
    server = query_server(query, home)
    with query_client(server) as client:
        reply = client.sessions(recall_pb2.ListSessionsRequest(scope=scope, page_size=limit, page_token=page))
    if as_json:
        print_message(reply)
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("session", "memories", "first", "last"):
        table.add_column(name, justify="right" if name == "memories" else "left", no_wrap=True)
    for one in reply.sessions:
        first, last = (
            f"{stamp.ToDatetime(tzinfo=zone):%Y-%m-%d %H:%M}" for stamp in (one.first_at, one.last_at)
        )
        table.add_row(plain(one.session_id), counted(one.memories), first, last)
    if reply.sessions:
        stdout().print(table)
    elif not reply.next_page_token:
        stdout().print("no session")
        if not user:
            note(f"hint: {OWNED}")
    lists.note_next_page(reply.next_page_token)


@app.command("show", help=f"Show what is remembered of a session, in the order of the log.\n\n{EXIT_CODES}")
def show_command(
    session: Annotated[str, typer.Argument(help="Name of the session, as `helix session ls` prints it.")],
    *,
    tenant: options.Tenant = "",
    user: query_options.User = "",
    principal: query_options.Principals = None,
    after: query_options.After = "",
    before: query_options.Before = "",
    limit: lists.Limit = 50,
    page: lists.Page = "",
    tz: query_options.Zone = "",
    full: lists.Full = False,
    as_json: options.AsJson = False,
    query: options.Query = "",
    home: options.Home = options.DEFAULT_HOME,
) -> None:
    """Ask for a page and print it."""
    zone = chosen_zone(tz)
    earliest, end = query_options.span(after, before, zone)
    request = recall_pb2.TimelineRequest(
        scope=query_options.scope_of(tenant, user, principal),
        session_id=session,
        after=earliest,
        before=end,
        page_size=limit,
        page_token=page,
    )
    server = query_server(query, home)
    with query_client(server) as client:
        reply = client.timeline(request)
    if not (reply.memories or reply.next_page_token or page or after or before):
        error = NotFoundError(f"no memory of session {session!r} is visible to this scope")
        raise with_owner_hint(error, request.scope)
    if as_json:
        print_message(reply)
        return
    stdout().print(lists.memory_table(reply.memories, zone, full=full))
    lists.note_next_page(reply.next_page_token)
