"""`helix audit`: who recalled, listed, erased and exported."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Final

import typer
from rich.table import Table

from helix_cli.clients.auditing import RecordFilter, newest_records
from helix_cli.clients.broker import client_of, run_async
from helix_cli.commands.common import options
from helix_cli.commands.common.letters import since_moment
from helix_cli.commands.group import COMMANDS
from helix_cli.home.addresses import nats_server
from helix_cli.output.exit_codes import EXIT_CODES
from helix_cli.output.terminal import plain, stdout
from helix_memory import subjects
from helix_memory.limits import TOKEN_RULE
from helix_shared.audit.record import AuditRecord
from helix_shared.errors import InvalidInputError

LIST_HELP: Final = f"""List the newest records of the audit stream, the newest last.

[bold]Examples[/bold]

  helix audit ls
  helix audit ls --tenant acme --since 2h
  helix audit ls --who os:ana --json
  helix audit ls --tenant -          (refused before a tenant was proven)

A record has ids and counts: who called what, from where, with which outcome,
and the ids of the memories. It has no texts and no questions.

{EXIT_CODES}
"""

app = typer.Typer(help=COMMANDS["audit"].summary, no_args_is_help=True, add_completion=False)


@app.callback()
def _group() -> None:
    """Keep `ls` a command of its own."""


@app.command("ls", help=LIST_HELP)
def ls_command(
    *,
    limit: Annotated[int, typer.Option("--limit", min=1, max=100_000, help="How many.")] = 50,
    tenant: Annotated[str, typer.Option("--tenant", help="Only of this tenant; - for none.")] = "",
    since: options.Since = "",
    who: Annotated[
        str, typer.Option("--who", help="Only of this credential, user or address, or its beginning.")
    ] = "",
    as_json: options.AsJson = False,
    nats: options.Nats = "",
    home: options.Home = options.DEFAULT_HOME,
) -> None:
    """List records."""
    if tenant and not subjects.is_token(tenant):
        raise InvalidInputError("--tenant", f"{tenant[:80]!r} {TOKEN_RULE}")
    server, only = nats_server(nats, home), RecordFilter(tenant, who, since_moment(since))

    async def work() -> list[AuditRecord]:
        async with client_of(server) as client:
            return await newest_records(client, only, limit=limit)

    records = run_async(work())
    if as_json:
        typer.echo(json.dumps([asdict(record) for record in records], indent=2))
    elif records:
        _print(records)
    else:
        typer.echo("no audit records")


def _print(records: Sequence[AuditRecord]) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("at", "tenant", "call", "outcome", "memories"):
        table.add_column(name, no_wrap=True)
    table.add_column("who", overflow="fold", ratio=1)
    for record in records:
        asked = f" (asked for {record.requested_tenant_id})" if record.requested_tenant_id else ""
        table.add_row(
            record.at[:19],
            plain(record.tenant_id or "-") + plain(asked),
            plain(record.call),
            plain(record.outcome),
            str(record.count),
            plain(" ".join(record.who)),
        )
    stdout().print(table)
