"""`helix dlq`: lists and shows dead letters; changes nothing.

`helix_memory.transport.dead_letters` reads them.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated, Any, Final

import typer
from nats.js import api
from nats.js.errors import NotFoundError as NoSuchMessageError
from rich.table import Table

from helix_cli.clients.broker import connected, run_async
from helix_cli.commands.common import options
from helix_cli.commands.group import COMMANDS
from helix_cli.output.exit_codes import EXIT_CODES
from helix_cli.output.terminal import plain, printable, size, stdout
from helix_cli.stack.addresses import nats_server
from helix_memory import subjects
from helix_memory.transport.dead_letters import DeadLetter, described, newest
from helix_shared.errors import NotFoundError

STREAM_PREFIX: Final = "HELIX_"

LIST_HELP: Final = f"""List the newest dead letters with their reason.

[bold]Examples[/bold]

  helix dlq ls
  helix dlq ls --limit 200 --json

{EXIT_CODES}
"""
SHOW_HELP: Final = f"""Show one dead letter: its origin, its reason and its body.

[bold]Examples[/bold]

  helix dlq show 17

{EXIT_CODES}
"""

app = typer.Typer(help=COMMANDS["dlq"].summary, no_args_is_help=True, add_completion=False)


@app.command("ls", help=LIST_HELP)
def ls_command(
    *,
    limit: Annotated[int, typer.Option("--limit", min=1, max=10_000, help="How many.")] = 50,
    before: Annotated[int | None, typer.Option("--before", min=1, help="Only below this sequence.")] = None,
    as_json: options.AsJson = False,
    nats: options.Nats = "",
    home: options.Home = options.DEFAULT_HOME,
) -> None:
    """List dead letters."""
    server = nats_server(nats, home)

    async def work() -> list[DeadLetter]:
        async with connected(server.address, instance=server.instance, credentials=server.nats) as jetstream:
            return [described(message) for message in await newest(jetstream, limit=limit, before=before)]

    letters = run_async(work())
    if as_json:
        typer.echo(json.dumps([asdict(letter) for letter in letters], indent=2))
    elif letters:
        _print(letters)
    else:
        typer.echo("no dead letters")


@app.command("show", help=SHOW_HELP)
def show_command(
    sequence: Annotated[int, typer.Argument(min=1, help="Sequence from `helix dlq ls`.")],
    *,
    as_json: options.AsJson = False,
    nats: options.Nats = "",
    home: options.Home = options.DEFAULT_HOME,
) -> None:
    """Show one dead letter."""
    server = nats_server(nats, home)

    async def work() -> api.RawStreamMsg:
        async with connected(server.address, instance=server.instance, credentials=server.nats) as jetstream:
            try:
                return await jetstream.get_msg(subjects.DLQ_STREAM, sequence)
            except NoSuchMessageError as error:
                raise NotFoundError(f"no dead letter {sequence}; `helix dlq ls` lists them") from error

    message = run_async(work())
    letter = asdict(described(message))
    body = readable(message.data or b"")
    if as_json:
        typer.echo(json.dumps(letter | {"body": body}, indent=2))
        return
    for name, value in letter.items():
        typer.echo(f"{name:16} {printable(str(value))}")
    typer.echo(printable(body if isinstance(body, str) else json.dumps(body, indent=2, ensure_ascii=False)))


def readable(body: bytes) -> Any:
    """A body for people: parsed JSON, other text as it is, anything else as its size."""
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return f"({size(len(body))} of binary data)"
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _print(letters: list[DeadLetter]) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("sequence", "stored", "service", "tenant", "from"):
        table.add_column(name, no_wrap=True)
    table.add_column("reason", overflow="fold", ratio=1)
    for letter in letters:
        table.add_row(
            str(letter.sequence),
            letter.stored_at[:19],
            plain(letter.service),
            plain(letter.tenant_id),
            f"{letter.stream.removeprefix(STREAM_PREFIX).lower()} {letter.stream_sequence}",
            plain(letter.reason),
        )
    stdout().print(table)
