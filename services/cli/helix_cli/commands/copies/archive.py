"""`helix archive`: what the archive of events holds, and whether it is whole."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Final

import typer

from helix_cli.commands.common import options
from helix_cli.commands.group import help_text
from helix_cli.home.folder import HomeFolder
from helix_cli.output.exit_codes import EXIT_CODES
from helix_cli.output.terminal import size
from helix_consolidation.archiving.event_archive import ARCHIVE
from helix_shared.errors import NotFoundError
from helix_shared.event_log.archive_files import CARD, Verified, verify

HELP: Final = f"""
[bold]Examples[/bold]

  helix archive verify

Consolidation writes every event into data/archive of the home before it
applies it. `verify` reads all of it and compares every checksum; it may run
beside `helix up`. HELIX_CONSOLIDATION_ARCHIVE=false switches the archive
off.

{EXIT_CODES}
"""

app = typer.Typer(add_completion=False, help=help_text("archive", HELP), no_args_is_help=True)


@app.callback()
def _archive() -> None:
    """Keep `verify` a command of its own."""


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


def _line(found: Verified) -> str:
    gaps = f", {found.gaps} gaps ({found.erased} erased)" if found.gaps else ""
    return (
        f"archive is whole up to sequence {found.last_sequence}: {found.records} events{gaps} in "
        f"{found.segments} sealed segments and an open one, {size(found.size_bytes)}"
    )
