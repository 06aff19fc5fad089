"""Options that several commands share, and how an address is found.

An address comes from the option or its environment variable, else from the `helix up` that runs on this
home. There is no default address: a home that is stopped or mistyped must not lead to another instance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import typer

from helix_cli.clients.polling import looks
from helix_cli.output.terminal import note
from helix_cli.stack.home import HomeFolder, RunRecord, is_starting, running_record
from helix_shared.errors import TemporaryError

DEFAULT_HOME: Final = Path("~/.helix")
USUAL_NATS_PORT: Final = 4222
USUAL_QUERY_PORT: Final = 7461
"""Where `helix up` listens if it can."""
START_SECONDS: Final = 120.0
"""How long a command waits for a `helix up` that is starting: the first one builds a model."""
NATS_VARIABLE: Final = "HELIX_NATS_URL"
QUERY_VARIABLE: Final = "HELIX_RECALL_ADDRESS"
TENANT_VARIABLE: Final = "HELIX_TENANT"

Home = Annotated[Path, typer.Option("--home", envvar="HELIX_HOME", help="Folder of everything Helix keeps.")]
Nats = Annotated[
    str, typer.Option("--nats", envvar=NATS_VARIABLE, help="Address of NATS, e.g. nats://127.0.0.1:4222.")
]
Query = Annotated[
    str,
    typer.Option("--query", envvar=QUERY_VARIABLE, help="Address of the query service, e.g. 127.0.0.1:7461."),
]
Tenant = Annotated[
    str, typer.Option("--tenant", envvar=TENANT_VARIABLE, help="Whose memory it is: a token like acme.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
Wait = Annotated[bool, typer.Option("--wait", help="Return when what was published can be recalled.")]
WaitSeconds = Annotated[float, typer.Option("--wait-seconds", min=0.1, help="Give up waiting after this.")]


@dataclass(frozen=True, slots=True)
class Server:
    """Where a server listens, and which instance of Helix must answer there; empty: any."""

    address: str
    instance: str = ""


def nats_server(option: str, home: Path, *, wait: bool = True) -> Server:
    """Where NATS listens; `wait` for a `helix up` that is starting on the home.

    Raises:
        TemporaryError: no address is given and nothing runs on the home, or nothing listens yet.
    """
    return _server(option, home, lambda record: record.nats_url, wait=wait)


def query_server(option: str, home: Path, *, wait: bool = True) -> Server:
    """Where the query service listens; `wait` for a `helix up` that is starting on the home.

    Raises:
        TemporaryError: no address is given and nothing runs on the home, or nothing listens yet.
    """
    return _server(option, home, lambda record: record.query_address, wait=wait)


def _server(option: str, home: Path, address: Callable[[RunRecord], str], *, wait: bool) -> Server:
    if option:
        return Server(option)
    record = _record_of(home, wait_seconds=START_SECONDS if wait else 0.0)
    return Server(address(record), record.instance)


def _record_of(home: Path, *, wait_seconds: float) -> RunRecord:
    """What runs on the home; waits for a `helix up` that is starting there."""
    folder = HomeFolder.at(home)
    is_told = False
    for _ in looks(wait_seconds):
        if (record := running_record(folder)) is not None:
            return record
        if not is_starting(folder):
            raise TemporaryError(
                f"nothing runs in this home ({folder.root}); start it with `helix up`, choose another with "
                f"--home or HELIX_HOME, or name addresses with --nats and --query ({NATS_VARIABLE}, "
                f"{QUERY_VARIABLE})"
            )
        if wait_seconds and not is_told:
            note(f"`helix up` is starting in this home ({folder.root}); waiting up to {wait_seconds:g} s")
            is_told = True
    waited = f" after {wait_seconds:g} s" if wait_seconds else ""
    raise TemporaryError(
        f"`helix up` is starting in this home ({folder.root}), but nothing listens yet{waited}"
    )
