"""`helix profile`: shows what a user's own statements say about them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.table import Table

from helix_cli.commands.common import options, query_options
from helix_cli.commands.common.hints import OWNED
from helix_cli.commands.group import help_text
from helix_cli.home.addresses import query_server
from helix_cli.output.exit_codes import EXIT_CODES
from helix_cli.output.terminal import note, plain, print_message, printable, stdout
from helix_cli.output.time_zone import moment, zone_of
from helix_memory import limits
from helix_memory.machine_zone import machine_zone
from helix_memory.recall.v1 import recall_pb2
from helix_shared.errors import InvalidInputError

if TYPE_CHECKING:
    from datetime import tzinfo

HELP: Final = f"""
[bold]Examples[/bold]

  helix profile --tenant acme --user ana
  helix profile --tenant acme --user ana --packed | my-agent
  helix profile --tenant acme --user ana --as-of 2026-11-01
  helix profile --tenant acme --json

Each line cites the memories that say so; --json prints their ids. Without
--user it is what was said to everyone in the tenant, with the speakers.
A line is gone as soon as its memory is forgotten, erased or replaced.

{EXIT_CODES}
"""
PARTS: Final = {
    recall_pb2.PROFILE_PART_STATIC: "about the user",
    recall_pb2.PROFILE_PART_DYNAMIC: "going on",
}

FACETS_CHARACTERS: Final = 13
"""Width of a column: the text is what people read."""

app = typer.Typer(add_completion=False)


@app.command(help=help_text("profile", HELP))
def profile_command(
    *,
    tenant: options.Tenant = "",
    user: query_options.User = "",
    principal: query_options.Principals = None,
    budget: Annotated[int | None, typer.Option("--budget", help="Token budget of the text.")] = None,
    as_of: query_options.AsOf = "",
    tz: query_options.Zone = "",
    min_seq: Annotated[
        int, typer.Option("--min-seq", min=0, max=2**64 - 1, help="Wait for the event with this sequence.")
    ] = 0,
    packed: Annotated[bool, typer.Option("--packed", help="Print the text for a prompt.")] = False,
    as_json: options.AsJson = False,
    query: options.Query = "",
    home: options.Home = options.DEFAULT_HOME,
) -> None:
    """Ask and print."""
    from helix_cli.home.query_client import query_client  # noqa: PLC0415  gRPC is slow to import

    if packed and as_json:
        raise InvalidInputError("--packed", "excludes --json")
    scope = query_options.scope_of(tenant, user, principal)
    time_zone = tz or machine_zone()
    zone = zone_of(time_zone)
    request = recall_pb2.GetProfileRequest(
        scope=scope,
        token_budget=query_options.count("--budget", budget, limits.TOKEN_BUDGET),
        as_of=moment("--as-of", as_of, zone),
        time_zone=time_zone,
        min_seq=min_seq,
    )
    server = query_server(query, home)
    with query_client(server) as client:
        reply = client.profile(request)
    if as_json:
        print_message(reply)
    elif packed:
        typer.echo(printable(reply.profile.text) if stdout().is_terminal else reply.profile.text)
    else:
        _print_table(reply, zone)
    if not (reply.profile.lines or user):
        note(f"hint: {OWNED}")


def _print_table(reply: recall_pb2.GetProfileResponse, zone: tzinfo) -> None:
    console, profile = stdout(), reply.profile
    if profile.lines:
        table = Table(box=None, pad_edge=False, header_style="bold")
        table.add_column("part", no_wrap=True)
        table.add_column("facets", max_width=FACETS_CHARACTERS)
        table.add_column("date", no_wrap=True)
        table.add_column("from", justify="right", no_wrap=True)
        table.add_column("said", overflow="fold", ratio=1)
        for line in profile.lines:
            day = line.occurred_at.ToDatetime(tzinfo=zone).date().isoformat()
            facets = plain(", ".join(line.facets))
            table.add_row(PARTS[line.part], facets, day, str(len(line.memory_ids)), plain(line.text))
        console.print(table)
    else:
        console.print("nothing known")
    left_out = f"; {profile.left_out} lines had no room" if profile.left_out else ""
    stale = "; stale" if reply.stale else ""
    console.print(plain(f"tokens      {profile.tokens}{left_out}"))
    console.print(
        plain(f"generation  {reply.generation}, applied to sequence {reply.applied_sequence}{stale}")
    )
