"""`helix clone`: the memories of a tenant under another name, on the same instance."""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import Annotated, Final

import typer

from helix_cli.commands.common import options
from helix_cli.commands.common.publishing import Waiting, conclude
from helix_cli.commands.copies.export import run_export
from helix_cli.commands.copies.taking import report_taken, take
from helix_cli.commands.group import help_text
from helix_cli.home.addresses import nats_server, query_server
from helix_cli.home.folder import HomeFolder
from helix_cli.output.exit_codes import EXIT_CODES
from helix_memory import subjects
from helix_shared.errors import InvalidInputError

HELP: Final = f"""
[bold]Examples[/bold]

  helix clone --tenant acme --to acme-trial
  helix clone --tenant acme --to acme-trial --wait

Publishes the events of a tenant again as those of another one, with their
ids and times: an export that is imported under another name. Cloning again
adds what was published since.

{EXIT_CODES}
"""

app = typer.Typer(add_completion=False)


@app.command(help=help_text("clone", HELP))
def clone_command(
    *,
    tenant: options.Tenant = "",
    to: Annotated[str, typer.Option("--to", help="Tenant that gets the memories.")],
    wait: options.Wait = False,
    wait_seconds: options.WaitSeconds = 600.0,
    as_json: options.AsJson = False,
    nats: options.Nats = "",
    query: options.Query = "",
    home: options.Home = options.DEFAULT_HOME,
) -> None:
    """Clone."""
    if not tenant:
        raise InvalidInputError("--tenant", "is missing; name the tenant to clone, e.g. --tenant acme")
    if not subjects.is_token(to) or to == tenant:
        raise InvalidInputError("--to", f"{to[:80]!r} is not another tenant: A-Z a-z 0-9 _ -, 1 to 64")
    server = nats_server(nats, home)
    with tempfile.NamedTemporaryFile(prefix="helix-clone-") as copy:
        run_export(server, copy, tenants=[tenant], home=HomeFolder.at(home))
        taken = take(Path(copy.name), tenant=to, server=server, tracked=wait, name=f"export of {tenant}")
    waiting = Waiting(query_server(query, home), server, wait_seconds) if wait else None
    conclude(taken.tally, waiting, as_json=as_json, report=partial(report_taken, taken, as_json=as_json))
