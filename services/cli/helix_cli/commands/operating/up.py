"""`helix up`: runs the stack in the foreground until Ctrl-C.

`stack` does the work; this module prints what happens and handles signals: the first drains the
processes, the second kills them.
"""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from pathlib import Path
from types import FrameType
from typing import Annotated, Final

import typer

from helix_cli.commands.common import options
from helix_cli.commands.group import help_text
from helix_cli.output.exit_codes import EXIT_CODES
from helix_cli.output.terminal import complain, printable
from helix_cli.stack.service_child import unused_variables
from helix_cli.stack.services import GATEWAY, GATEWAY_MODULE, is_installed
from helix_cli.stack.stack import READY_SECONDS, Stack
from helix_memory.sharding import MOST_SHARDS
from helix_shared.errors import CONFIG_ERROR_EXIT, InvalidInputError, TemporaryError

CHECK_SECONDS: Final = 0.2

HELP: Final = f"""
[bold]Examples[/bold]

  helix up
  helix up --home ./memory --port 0 --nats-port 0    (any free ports)
  helix up --copies ingest=2,kg=2                    (more workers)
  helix up --shards 2                                (two writers)

Runs in the foreground. Ctrl-C drains and stops, a second Ctrl-C kills. A
process that ends is started again. Data, models and logs are under --home;
other commands with the same --home find the addresses there. The services
get their settings from variables like HELIX_INGEST_BATCH_SIZE. The worker
extract, which asks a language model, starts only with
HELIX_EXTRACT_BASE_URL (for example http://localhost:11434/v1),
HELIX_EXTRACT_MODEL and HELIX_EXTRACT_TENANTS; the service deep, for
`helix recall --deep`, only with the same variables of HELIX_DEEP. The
gateway serves REST (/v1), MCP (/mcp) and pages for people (/explorer) where
helix-memory-cli\\[gateway] is installed; --copies gateway=0 leaves it out.

{EXIT_CODES}
"""


app = typer.Typer(add_completion=False)


@app.command(help=help_text("up", HELP))
def up_command(
    *,
    home: options.Home = options.DEFAULT_HOME,
    port: Annotated[
        int | None,
        typer.Option(
            "--port",
            min=0,
            max=65535,
            help="Port of the query service; 0: any. Default: 7461, if free.",
        ),
    ] = None,
    nats_port: Annotated[
        int | None,
        typer.Option(
            "--nats-port",
            min=0,
            max=65535,
            help="Port of NATS; 0: any. Default: 4222, if free.",
        ),
    ] = None,
    gateway_port: Annotated[
        int | None,
        typer.Option(
            "--gateway-port",
            min=0,
            max=65535,
            help="Port of the gateway; 0: any. Default: 7464, if free.",
        ),
    ] = None,
    copies: Annotated[str, typer.Option("--copies", help="Processes per worker, e.g. ingest=2,kg=2.")] = "",
    shards: Annotated[
        int | None,
        typer.Option(
            "--shards",
            min=1,
            max=MOST_SHARDS,
            help="Writers that divide the tenants, each with a query service. Default: as before, or 1.",
        ),
    ] = None,
) -> None:
    """Run until a signal or a refusal of settings."""
    stack = Stack(
        home,
        nats_port=nats_port,
        query_port=port,
        gateway_port=gateway_port,
        copies={GATEWAY: int(is_installed(GATEWAY_MODULE))} | parse_copies(copies),
        shards=shards,
        say=_say,
    )
    signals = _Signals(stack)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signals)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # as `nohup` sets it
        signal.signal(signal.SIGHUP, signals)
    started = time.monotonic()
    try:
        stack.start()
    except KeyboardInterrupt:
        _say("stopped while starting")
        return
    signals.starting = False
    try:
        _print_addresses(stack, home)
        until_ready(stack, signals.stop, started)
        while not signals.stop.wait(CHECK_SECONDS) and not stack.refusal:
            pass
    finally:
        _say("draining (Ctrl-C again kills)")
        stack.stop()
        _say("stopped")
    if stack.refusal:
        complain(stack.refusal)
        raise typer.Exit(CONFIG_ERROR_EXIT)


def parse_copies(text: str) -> dict[str, int]:
    """Parse `ingest=2,kg=2` into the number of processes of each service.

    Raises:
        InvalidInputError: the text has another form.
    """
    copies = {}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        name, _, count = part.partition("=")
        if not count.isdecimal():
            raise InvalidInputError("--copies", f"{part!r} must have the form ingest=2")
        copies[name.strip()] = int(count)
    return copies


class _Signals:
    """Handler of SIGINT and SIGTERM; while the stack starts, the first one interrupts it."""

    def __init__(self, stack: Stack) -> None:
        self.stop = threading.Event()
        self.starting = True
        self._stack = stack

    def __call__(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        if self.stop.is_set():
            self._stack.hurry()
            return
        self.stop.set()
        if self.starting:
            raise KeyboardInterrupt


def _print_addresses(stack: Stack, home: Path) -> None:
    _say(f"data      {stack.home.data}")
    _say(f"logs      {stack.home.logs}")
    _say(f"model     {stack.model}")
    _say(f"nats      {stack.nats_url}")
    _say(f"query     {stack.query_address}")
    if stack.deep_address:
        _say(f"deep      {stack.deep_address}")
    if stack.gateway_url:
        _say(f"gateway   {stack.gateway_url} (REST: /v1, MCP: /mcp)")
        _say(f"explorer  {stack.gateway_url}/explorer")
    for name in unused_variables(stack.processes):
        _say(f"not used  {name}: `helix up` sets it itself")
    names = ", ".join(child.name for child in stack.processes)
    _say(f"started   {names}")
    if home != options.DEFAULT_HOME:
        _say(f"other commands find it with --home {home} or HELIX_HOME={home}")


def until_ready(stack: Stack, stop: threading.Event, started: float) -> None:
    """Say when everything is ready, and from time to time what is missing; ends with `stop` or a refusal."""
    told = started
    while not stop.is_set() and not stack.refusal:
        try:
            stack.wait_ready(timeout_seconds=1.0)
        except TemporaryError as error:
            if time.monotonic() - told > READY_SECONDS:
                _say(f"not ready yet, still trying: {error}")
                told = time.monotonic()
        except InvalidInputError:
            return
        else:
            _say(f"ready in {time.monotonic() - started:.1f} s; Ctrl-C stops")
            return


def _say(message: str) -> None:
    """Print a line. Where a terminal or pipe is gone, the processes are watched and ended all the same."""
    with contextlib.suppress(OSError):
        typer.echo(printable(message))
