"""Options that several commands share, and how an address is found.

An address comes from the option, else from the environment, else from the `helix up` that runs on
this home, else it is the default.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from helix_cli.home import HomeFolder, read_record

DEFAULT_HOME: Final = Path("~/.helix")
DEFAULT_NATS_PORT: Final = 4222
DEFAULT_QUERY_PORT: Final = 7461
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


def nats_url(option: str, home: Path) -> str:
    """Where NATS listens."""
    record = None if option else read_record(HomeFolder.at(home))
    return option or (record.nats_url if record else f"nats://127.0.0.1:{DEFAULT_NATS_PORT}")


def query_address(option: str, home: Path) -> str:
    """Where the query service listens."""
    record = None if option else read_record(HomeFolder.at(home))
    return option or (record.query_address if record else f"127.0.0.1:{DEFAULT_QUERY_PORT}")
