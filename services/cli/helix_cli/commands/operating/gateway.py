"""`helix gateway`: the gateway alone, in the foreground."""

from __future__ import annotations

import os
from typing import Annotated, Final

import typer

from helix_cli.commands.common import options
from helix_cli.commands.group import help_text
from helix_cli.home.addresses import USUAL_GATEWAY_PORT, nats_server, query_server
from helix_cli.home.folder import HomeFolder
from helix_cli.home.record import running_record
from helix_cli.output.exit_codes import EXIT_CODES
from helix_cli.output.terminal import note
from helix_cli.stack.ports import choose_port
from helix_cli.stack.secured import Secured
from helix_cli.stack.services import GATEWAY, GATEWAY_MODULE, is_installed
from helix_shared.errors import InvalidInputError
from helix_shared.machine.processes import module_command

LISTEN: Final = "HELIX_GATEWAY_LISTEN"
NATS_URL: Final = "HELIX_GATEWAY_NATS_URL"
QUERY_ADDRESS: Final = "HELIX_GATEWAY_QUERY_ADDRESS"

HELP: Final = f"""
[bold]Examples[/bold]

  helix gateway --port 8080
  helix gateway --nats nats://log:4222 --query query:7461

REST (/v1, with its document at /v1/openapi.json) and MCP (/mcp) over the
services of the home, or of --nats and --query (HELIX_GATEWAY_NATS_URL,
HELIX_GATEWAY_QUERY_ADDRESS). `helix up` runs one already.
Settings are variables like HELIX_GATEWAY_IN_FLIGHT; HELIX_GATEWAY_LISTEN
instead of --port lets other machines in, with HELIX_GATEWAY_AUTH and TLS.

{EXIT_CODES}
"""

app = typer.Typer(add_completion=False)


@app.command(help=help_text("gateway", HELP))
def gateway_command(
    *,
    home: options.Home = options.DEFAULT_HOME,
    nats: options.Nats = "",
    query: options.Query = "",
    port: Annotated[
        int | None,
        typer.Option("--port", min=0, max=65535, help="On 127.0.0.1; 0: any. Default: 7464, if free."),
    ] = None,
) -> None:
    """Become the gateway: signals reach it, and its exit code is that of the command."""
    if not is_installed(GATEWAY_MODULE):
        raise InvalidInputError(GATEWAY, "is not installed; install helix-memory-cli[gateway]")
    folder = HomeFolder.at(home)
    nats, query = nats or os.environ.get(NATS_URL, ""), query or os.environ.get(QUERY_ADDRESS, "")
    settings = {
        "HELIX_HOME": str(folder.root),
        NATS_URL: nats_server(nats, home).address,
        QUERY_ADDRESS: query_server(query, home).address,
    }
    record = running_record(folder)
    if not (nats or query) and record is not None and record.is_secured:
        secured = Secured(folder, say=note)
        secured.start()
        settings |= secured.settings(GATEWAY, os.environ)
    if port is not None or LISTEN not in os.environ:
        settings[LISTEN] = f"127.0.0.1:{choose_port(port, usual=USUAL_GATEWAY_PORT, option='--port')}"
        note(f"gateway   {settings[LISTEN]} (REST: /v1, MCP: /mcp, pages: /explorer); Ctrl-C stops")
    command = module_command(GATEWAY_MODULE)
    os.execve(command[0], command, os.environ | settings)  # noqa: S606  our own module
