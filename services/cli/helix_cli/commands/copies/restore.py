"""`helix restore`: a backup into an empty home."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Final

import typer

from helix_cli.backup.contents import read_contents
from helix_cli.backup.restore import Restored, restore_backup
from helix_cli.commands.common import options
from helix_cli.commands.group import help_text
from helix_cli.home.folder import HomeFolder
from helix_cli.output.exit_codes import EXIT_CODES
from helix_cli.output.terminal import note

HELP: Final = f"""
[bold]Examples[/bold]

  helix restore /backups/helix --keys /safe/keys --home ./restored
  helix up --home ./restored

Checks every byte of the backup, then makes it the data of a home that has
none; a backup that is damaged changes nothing. The log has the sequences
and times that it had, and the home as many shards as the backup. `helix up`
then continues with new events; `helix up --shards` adds shards.

--keys names the folder with the keys of the backup: data/keys of the home
that made it, or a copy that `helix keys copy` made. What was erased after
the backup has no key any more, and is left out. Any erasure also destroys
the key of the generation in older backups: `helix up` then makes every
memory again from the log, without dead letters, and asks a language model
again. A backup of an older release is in the clear: what was erased after
it is in it, so erase it again.

{EXIT_CODES}
"""

app = typer.Typer(add_completion=False)


@app.command(help=help_text("restore", HELP))
def restore_command(
    folder: Annotated[Path, typer.Argument(help="Folder of the backups.")],
    *,
    number: Annotated[int, typer.Option("--number", min=0, help="Which backup; 0 is the last one.")] = 0,
    keys: Annotated[Path | None, typer.Option("--keys", help="Folder with the keys of the backup.")] = None,
    as_json: options.AsJson = False,
    home: options.Home = options.DEFAULT_HOME,
) -> None:
    """Restore."""
    root, at = folder.expanduser().absolute(), HomeFolder.at(home)
    opening = keys.expanduser().absolute() if keys else None
    restored = restore_backup(root, read_contents(root, number), at, keys=opening)
    contents, events = restored.contents, restored.events
    for model in restored.missing_models:
        note(
            f"the model of the generation, {model}, is not in {at.models}: bring it with "
            "`helix models` before `helix up`, or back up with --with-models"
        )
    _tell(restored)
    if contents.settings:
        note(f"helix up ran with {' '.join(f'{name}={value}' for name, value in contents.settings.items())}")
    if as_json:
        left_out = {"left_out": events.left_out if events else 0, "has_generation": restored.has_state}
        typer.echo(json.dumps(contents.facts() | left_out))
        return
    typer.echo(f"restored backup {contents.number} into {at.root}: {contents.line()}")


def _tell(restored: Restored) -> None:
    """Say what of the backup is not restored, and what is although it was erased."""
    made_at, events = restored.contents.made_at, restored.events
    if events is None:
        note(
            f"this backup is in the clear: no erasure after {made_at:%Y-%m-%d %H:%M:%S} UTC reached it; "
            "erase again what was erased since"
        )
        return
    if events.left_out:
        note(f"left out: {events.left_out} events, their keys are destroyed; {events.events} are restored")
    if not restored.has_state:
        note(
            "an erasure came after this backup: the log is restored without a generation, "
            f"`helix up` makes every memory again from {events.events} events"
        )
        if len(restored.contents.shards) > 1:
            note("a tenant that `helix shards` had placed lies where its name places it; place it again")
    note("its keys now lie in this home, too: an erasure here does not destroy those of another home")
