"""`helix restore`: a backup into an empty home."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Final

import typer

from helix_cli.backup.contents import read_contents
from helix_cli.backup.restore import restore_backup
from helix_cli.commands.common import options
from helix_cli.commands.group import help_text
from helix_cli.output.exit_codes import EXIT_CODES
from helix_cli.output.terminal import note
from helix_cli.stack.home import HomeFolder

HELP: Final = f"""
[bold]Examples[/bold]

  helix restore /backups/helix --home ./restored
  helix up --home ./restored

Checks every byte of the backup, then makes it the data of a home that has
none; a backup that is damaged changes nothing. The log has the sequences
and times that it had. `helix up` then continues with new events.

What was erased after the backup is in it: erase it again.

{EXIT_CODES}
"""

app = typer.Typer(add_completion=False)


@app.command(help=help_text("restore", HELP))
def restore_command(
    folder: Annotated[Path, typer.Argument(help="Folder of the backups.")],
    *,
    number: Annotated[int, typer.Option("--number", min=0, help="Which backup; 0 is the last one.")] = 0,
    as_json: options.AsJson = False,
    home: options.Home = options.DEFAULT_HOME,
) -> None:
    """Restore."""
    root, at = folder.expanduser().absolute(), HomeFolder.at(home)
    restored = restore_backup(root, read_contents(root, number), at)
    contents = restored.contents
    if not restored.has_model:
        note(
            f"the model of the generation, {restored.model}, is not in {at.models}: bring it with "
            "`helix models` before `helix up`, or back up with --with-models"
        )
    note(f"what was erased after {contents.made_at:%Y-%m-%d %H:%M:%S} UTC is in this backup: erase it again")
    if contents.settings:
        note(f"helix up ran with {' '.join(f'{name}={value}' for name, value in contents.settings.items())}")
    if as_json:
        facts = {"number", "made_at", "last_sequence", "generation", "applied_sequence"}
        typer.echo(json.dumps(contents.model_dump(mode="json", include=facts)))
        return
    typer.echo(
        f"restored backup {contents.number} into {at.root}: events up to {contents.last_sequence}, "
        f"generation {contents.generation}"
    )
