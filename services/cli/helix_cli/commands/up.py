"""`helix up`: the stack in the foreground, until Ctrl-C.

The work is `stack`; this file says what happens and minds the signals: the first asks to drain, the
second kills.
"""

from __future__ import annotations

import signal
import threading
import time
from pathlib import Path
from types import FrameType
from typing import Annotated, Final

import typer

from helix_cli.commands import options
from helix_cli.output.failure import EXIT_CODES
from helix_cli.output.terminal import complain, printable
from helix_cli.stack.stack import READY_SECONDS, Stack
from helix_shared.errors import InvalidInputError, TemporaryError
from helix_shared.settings import CONFIG_ERROR_EXIT

LOOK_SECONDS: Final = 0.2

HELP: Final = f"""Run all of Helix on this machine: NATS, the workers, the query service.

[bold]Examples[/bold]

  helix up
  helix up --home ./memory --port 0 --nats-port 0    (any free ports)
  helix up --copies ingest=2,kg=2                    (more workers)

Stays in the foreground; Ctrl-C drains, a second Ctrl-C kills. What dies
is started again. Data, models and logs lie under --home; other commands
with the same --home find the addresses there. Variables of the services
like HELIX_INGEST_BATCH_SIZE reach them.

{EXIT_CODES}
"""


def up_command(
    *,
    home: options.Home = options.DEFAULT_HOME,
    port: Annotated[
        int | None,
        typer.Option(
            "--port", min=0, max=65535, help="Port of the query service; 0: any. Usual: 7461 if free."
        ),
    ] = None,
    nats_port: Annotated[
        int | None,
        typer.Option("--nats-port", min=0, max=65535, help="Port of NATS; 0: any. Usual: 4222 if free."),
    ] = None,
    copies: Annotated[str, typer.Option("--copies", help="Copies of workers, e.g. ingest=2,kg=2.")] = "",
) -> None:
    """Run; the help text stands in `HELP`."""
    stack = Stack(home, nats_port=nats_port, query_port=port, copies=parse_copies(copies), say=_say)
    asked = _Asked(stack)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, asked)
    started = time.monotonic()
    try:
        stack.start()
    except KeyboardInterrupt:
        _say("stopped while starting")
        return
    asked.starting = False
    try:
        _introduce(stack, home)
        _until_ready(stack, asked, started)
        while not asked.stop.wait(LOOK_SECONDS) and not stack.refusal:
            pass
    finally:
        _say("draining (Ctrl-C again kills)")
        stack.stop()
        _say("stopped")
    if stack.refusal:
        complain(stack.refusal)
        raise typer.Exit(CONFIG_ERROR_EXIT)


def parse_copies(text: str) -> dict[str, int]:
    """`ingest=2,kg=2` as numbers by service.

    Raises:
        InvalidInputError: it does not read like that.
    """
    copies = {}
    for part in filter(None, (piece.strip() for piece in text.split(","))):
        name, _, count = part.partition("=")
        if not count.isdecimal():
            raise InvalidInputError("--copies", f"{part!r} must read like ingest=2")
        copies[name.strip()] = int(count)
    return copies


class _Asked:
    """What the signals asked for; while the stack starts, the first one interrupts it."""

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


def _introduce(stack: Stack, home: Path) -> None:
    _say(f"data      {stack.home.data}")
    _say(f"logs      {stack.home.logs}")
    _say(f"model     {stack.model}")
    _say(f"nats      {stack.nats_url}")
    _say(f"query     {stack.query_address}")
    names = ", ".join(child.name for child in stack.processes)
    _say(f"started   {names}")
    if home != options.DEFAULT_HOME:
        _say(f"other commands find it with --home {home} or HELIX_HOME={home}")


def _until_ready(stack: Stack, asked: _Asked, started: float) -> None:
    while not asked.stop.is_set() and not stack.refusal:
        try:
            stack.wait_ready(timeout_seconds=1.0)
        except TemporaryError as error:
            if time.monotonic() - started > READY_SECONDS:
                _say(f"not ready yet, still trying: {error}")
                started = time.monotonic()
        except InvalidInputError:
            return
        else:
            _say(f"ready in {time.monotonic() - started:.1f} s; Ctrl-C stops")
            return


def _say(message: str) -> None:
    typer.echo(printable(message))
