"""Options that several commands have."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Annotated, Final

import typer

from helix_cli.commands.completion import TENANT_VARIABLE, tenants
from helix_cli.home.addresses import DEEP_VARIABLE, NATS_VARIABLE, QUERY_VARIABLE
from helix_cli.home.folder import HomeFolder
from helix_cli.home.leftovers import end_killed_restore
from helix_cli.output.terminal import note

DEFAULT_HOME: Final = Path("~/.helix")


def _home(context: typer.Context, path: Path) -> Path:
    """The home of a command, without what a killed restore left there."""
    if not context.resilient_parsing:
        # a command with addresses needs no home that it may read
        with contextlib.suppress(OSError):
            end_killed_restore(HomeFolder.at(path), say=note)
    return path


Home = Annotated[
    Path,
    typer.Option("--home", envvar="HELIX_HOME", help="Folder of everything Helix keeps.", callback=_home),
]
Nats = Annotated[
    str, typer.Option("--nats", envvar=NATS_VARIABLE, help="Address of NATS, e.g. nats://127.0.0.1:4222.")
]
Query = Annotated[
    str,
    typer.Option("--query", envvar=QUERY_VARIABLE, help="Address of the query service, e.g. 127.0.0.1:7461."),
]
Deep = Annotated[
    str,
    typer.Option(
        "--deep-address", envvar=DEEP_VARIABLE, help="Address of the deep service, e.g. 127.0.0.1:7463."
    ),
]
Tenant = Annotated[
    str,
    typer.Option(
        "--tenant",
        envvar=TENANT_VARIABLE,
        help="Tenant that owns the memory, e.g. acme.",
        autocompletion=tenants,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
Since = Annotated[str, typer.Option("--since", help="Only since then: 30m, 2h, 7d, or an ISO time.")]
InFlight = Annotated[
    int, typer.Option("--in-flight", min=1, max=1024, help="Most events that wait for acknowledgement.")
]
Wait = Annotated[
    bool, typer.Option("--wait", help="Return when the events are processed; say which were refused then.")
]
WaitSeconds = Annotated[float, typer.Option("--wait-seconds", min=0.1, help="Give up waiting after this.")]
