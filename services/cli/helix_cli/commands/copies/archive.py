"""`helix archive`: whether the archive of events is whole, and the log made whole from it."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Final

import typer

from helix_cli.clients.broker import connected_client, run_async
from helix_cli.commands.common import options
from helix_cli.commands.group import help_text
from helix_cli.home.folder import HomeFolder
from helix_cli.output.exit_codes import EXIT_CODES
from helix_cli.output.terminal import note, size
from helix_consolidation.archiving.event_archive import ARCHIVE
from helix_shared.errors import NotFoundError
from helix_shared.event_log.archive_files import CARD, VerifiedArchive, verify

if TYPE_CHECKING:
    from helix_cli.backup.whole_log import MadeWhole
    from helix_cli.home.addresses import Server

HELP: Final = f"""
[bold]Examples[/bold]

  helix archive verify
  helix archive restore

Consolidation writes every event into data/archive of the home before it
applies it. `verify` reads all of it and compares every checksum; it may run
beside `helix up`. `restore` puts events back into the log that it lost, with
the sequences that they had, after `helix up` has ended.
HELIX_CONSOLIDATION_ARCHIVE=false switches the archive off.

{EXIT_CODES}
"""

app = typer.Typer(add_completion=False, help=help_text("archive", HELP), no_args_is_help=True)


@app.command(name="verify")
def verify_command(*, as_json: options.AsJson = False, home: options.Home = options.DEFAULT_HOME) -> None:
    """Read the whole archive and compare every checksum."""
    at = HomeFolder.at(home)
    told = []
    for shard in range(at.shards):
        folder = at.data_of(shard) / ARCHIVE
        if not (folder / CARD).exists():
            raise NotFoundError(f"{folder} is no archive: consolidation has written none")
        found = verify(folder)
        told.append({"shard": shard} | asdict(found))
        if not as_json:
            typer.echo(("" if at.shards == 1 else f"shard {shard}: ") + _line(found))
    if as_json:
        typer.echo(json.dumps({"shards": told}))


@app.command(name="restore")
def restore_command(*, as_json: options.AsJson = False, home: options.Home = options.DEFAULT_HOME) -> None:
    """Put events of the archive back into a log that was truncated or created again."""
    from helix_cli.backup.whole_log import make_whole  # noqa: PLC0415  the engines are slow to import
    from helix_cli.rebuilding.alone import own_server  # noqa: PLC0415

    async def work(server: Server) -> MadeWhole:
        async with connected_client(server.address, credentials=server.nats) as client:
            return await make_whole(client, at)

    at = HomeFolder.at(home)
    with own_server(at, say=note, needs_log=False) as server:
        made = run_async(work(server))
    if as_json:
        typer.echo(json.dumps(asdict(made) | {"needs_rebuild": made.needs_rebuild}))
        return
    typer.echo(f"{made.events} events are back in the log, which holds those up to {made.archived} as before")
    if made.archived < made.applied:
        note(
            f"the archive ends before {made.applied}, the last event of the memories; `helix rebuild` is next"
        )
    if made.needs_rebuild:
        note(
            f"{made.later} events had taken the places of others and follow them now; `helix rebuild` is next"
        )


def _line(found: VerifiedArchive) -> str:
    gaps = f", {found.gaps} gaps ({found.erased} erased)" if found.gaps else ""
    return (
        f"archive is whole up to sequence {found.last_sequence}: {found.records} events{gaps} in "
        f"{found.segments} sealed segments and an open one, {size(found.size_bytes)}"
    )
