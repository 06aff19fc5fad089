"""`helix backup`: everything of a running instance into a folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Final

import typer

from helix_cli.backup.backup import BackedUp, back_up, keep_newest
from helix_cli.backup.contents import Contents, check_pieces, numbers, read_contents
from helix_cli.clients.auditing import CommandRecord, recorded
from helix_cli.clients.broker import client_of, run_async
from helix_cli.commands.common import options
from helix_cli.commands.group import help_text
from helix_cli.home.addresses import nats_server
from helix_cli.home.folder import HomeFolder
from helix_cli.home.record import read_record
from helix_cli.output.exit_codes import EXIT_CODES
from helix_cli.output.terminal import note, size
from helix_shared.errors import InvalidInputError, NotFoundError, PermanentError
from helix_shared.keys.key_store import KEYS

HELP: Final = f"""
[bold]Examples[/bold]

  helix backup /backups/helix
  helix backup /backups/helix --keep 7
  helix backup /backups/helix --verify

Runs beside `helix up`, which must run on the same home: nothing is paused.
A backup holds the log with its sequences and times, the current generation
of every shard, what is under way between them, recorded answers of the
language model, dead letters, learned adapters, and the names of the models.
The folder may hold many backups; a later one adds only what is new. A backup
that did not end does not exist. With --verify nothing is written: every byte
of all backups in the folder is compared with its checksum. A file that was
changed since it was written is also found by the next backup, which writes
it again; remove another one that --verify names, and the next backup does
the same.

What belongs to a user is encrypted under that user's key. The keys lie in
data/keys of the home, and in no backup: WITHOUT THEM NO BACKUP CAN BE
RESTORED. `helix keys copy FOLDER` keeps a copy elsewhere; repeat it after
every backup. An erasure destroys keys, so that no backup shows what it
erased.

{EXIT_CODES}
"""

app = typer.Typer(add_completion=False)


@app.command(help=help_text("backup", HELP))
def backup_command(
    folder: Annotated[Path, typer.Argument(help="Folder of the backups; made if there is none.")],
    *,
    verify: Annotated[bool, typer.Option("--verify", help="Check the backups in the folder.")] = False,
    keep: Annotated[
        int, typer.Option("--keep", min=0, help="Remove older backups but this many; 0 keeps all.")
    ] = 0,
    with_models: Annotated[
        bool, typer.Option("--with-models", help="Copy the files of the models, too.")
    ] = False,
    as_json: options.AsJson = False,
    nats: options.Nats = "",
    home: options.Home = options.DEFAULT_HOME,
) -> None:
    """Back up, or verify."""
    root = folder.expanduser().absolute()
    if verify:
        if keep or with_models:
            raise InvalidInputError("--verify", "writes nothing; leave out --keep and --with-models")
        _verify(root, as_json=as_json)
        return
    server, at = nats_server(nats, home), HomeFolder.at(home)
    record = read_record(at)

    async def work() -> BackedUp:
        async with client_of(server) as client:
            return await back_up(
                client,
                root,
                folders=[at.data_of(shard) for shard in range(at.shards)],
                models=at.models,
                settings=dict(record.settings) if record else {},
                with_models=with_models,
            )

    with recorded(server, "cli.backup", CommandRecord([])):
        made = run_async(work())
    freed = 0
    try:
        freed = keep_newest(root, keep) if keep else 0
    except PermanentError as error:
        note(f"older backups stay: {error}")
    if as_json:
        facts = {"new_bytes": made.new_bytes, "bytes": made.all_bytes, "freed_bytes": freed}
        typer.echo(json.dumps(made.contents.facts() | facts))
        return
    typer.echo(
        f"{_line(made.contents)}: {size(made.all_bytes)}, of which {size(made.new_bytes)} are new"
        + (f"; {size(freed)} of older backups removed" if freed else "")
    )
    note(f"it opens only with the keys in {at.data / KEYS}: keep a copy with `helix keys copy FOLDER`")


def _verify(root: Path, *, as_json: bool) -> None:
    found = numbers(root)
    if not found:
        raise NotFoundError(f"{root} holds no backup: a backup that did not end has no manifest")
    checked = []
    try:
        for number in found:
            contents = read_contents(root, number)
            pieces, total = check_pieces(root, contents)
            checked.append(contents.facts() | {"pieces": pieces, "bytes": total})
            if not as_json:
                typer.echo(f"{_line(contents)}: {pieces} pieces, {size(total)}, all good")
    finally:
        # also before the error of one that is damaged
        if as_json:
            typer.echo(json.dumps(checked))


def _line(contents: Contents) -> str:
    return f"backup {contents.number} of {contents.made_at:%Y-%m-%d %H:%M:%S} UTC: {contents.line()}"
