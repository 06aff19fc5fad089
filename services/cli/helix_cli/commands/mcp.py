"""`helix mcp`: MCP for agents that start a program, over standard input and output."""

from __future__ import annotations

import ssl
import sys
from collections.abc import Mapping
from enum import StrEnum
from functools import partial
from typing import Annotated, Final
from urllib.parse import quote, urlsplit

import typer

from helix_cli.clients.mcp_bridge import Bridge
from helix_cli.commands.common import options
from helix_cli.commands.group import help_text
from helix_cli.home.addresses import (
    CALL_VARIABLES,
    MCP_VARIABLE,
    GatewayPlace,
    calls_with,
    gateway_place,
    require_encrypted,
)
from helix_cli.output.exit_codes import EXIT_CODES
from helix_memory.transport.credentials import CallCredentials
from helix_shared.errors import InvalidInputError

HELP: Final = f"""
[bold]Examples[/bold]

  helix mcp --tenant acme --user ana
  helix mcp --names server-memory
  claude mcp add helix -- helix mcp --tenant acme --user ana

The tools recall, remember, get, timeline, forget, correct and why for one
user. It passes messages on to the gateway of `helix up`, which has the same
at /mcp over HTTP. Where Helix checks callers, HELIX_TOKEN_FILE names the
file with the token of the agent (`helix security token`), and tenant and
user are those of the token.

{EXIT_CODES}
"""


class Names(StrEnum):
    """Whose names the tools have."""

    HELIX = "helix"
    MEM0 = "mem0"
    OPENMEMORY = "openmemory"
    SERVER_MEMORY = "server-memory"


app = typer.Typer(add_completion=False)


@app.command(help=help_text("mcp", HELP))
def mcp_command(
    *,
    home: options.Home = options.DEFAULT_HOME,
    url: Annotated[
        str,
        typer.Option(
            "--url", envvar=MCP_VARIABLE, help="Address of the gateway, e.g. http://127.0.0.1:7464."
        ),
    ] = "",
    tenant: options.Tenant = "",
    user: Annotated[str, typer.Option("--user", help="User whose private memories are used.")] = "",
    project: Annotated[str, typer.Option("--project", help="Project of what is written.")] = "",
    names: Annotated[Names, typer.Option("--names", help="Whose names the tools have.")] = Names.HELIX,
) -> None:
    """Serve until the end of standard input."""
    place = gateway_place(url, home)
    calls = calls_with(CallCredentials(ca_file=place.ca_file)) or CallCredentials()
    _require_safe(place, _token_of(calls))
    named = {"Helix-Tenant": tenant, "Helix-User": user, "Helix-Project": project}
    path = "" if names is Names.HELIX else f"/{quote(names)}"
    bridge = Bridge(f"{place.url}/mcp{path}", partial(_headers, calls, named), _write, _tls(place, calls))
    bridge.serve(sys.stdin.buffer)


def _headers(calls: CallCredentials, named: Mapping[str, str]) -> dict[str, str]:
    """Those of one request, with the token that its file has now: a host may run for longer than it lasts.

    Raises:
        InvalidInputError: the file cannot be used.
    """
    values = {"Authorization": _token_of(calls), **named}
    return {name: value.encode().decode("latin-1") for name, value in values.items() if value}


def _token_of(calls: CallCredentials) -> str:
    return dict(calls.metadata()).get("authorization", "")


def _write(line: str) -> None:
    sys.stdout.buffer.write(line.encode("utf-8", "replace"))
    sys.stdout.buffer.flush()


def _require_safe(place: GatewayPlace, token: str) -> None:
    try:
        parts = urlsplit(place.url)
    except ValueError as error:
        raise InvalidInputError("--url", f"{place.url!r} is no address: {error}") from error
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise InvalidInputError("--url", f"{place.url!r} must be like http://127.0.0.1:7464")
    if place.is_secured and not token:
        raise InvalidInputError(
            CALL_VARIABLES["token_file"],
            "is missing: this home is secured; `helix security token` makes a token",
        )
    if token:
        require_encrypted("--url", place.url)


def _tls(place: GatewayPlace, calls: CallCredentials) -> ssl.SSLContext | None:
    if not place.url.startswith("https:"):
        return None
    try:
        context = ssl.create_default_context(cafile=None if calls.ca_file is None else str(calls.ca_file))
        if calls.cert_file is not None:
            context.load_cert_chain(calls.cert_file, calls.key_file)
    except (OSError, ssl.SSLError) as error:
        raise InvalidInputError(CALL_VARIABLES["ca_file"], f"cannot be used: {error}") from error
    return context
