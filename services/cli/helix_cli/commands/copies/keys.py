"""`helix keys`: the keys of backups, a copy of them, and their rotation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Final

import typer

from helix_cli.commands.common import options
from helix_cli.commands.group import help_text
from helix_cli.home.folder import HomeFolder
from helix_cli.output.exit_codes import EXIT_CODES
from helix_cli.output.terminal import note
from helix_shared.keys.key_store import KEYS, KeyStore

HELP: Final = f"""
[bold]Examples[/bold]

  helix keys show
  helix keys copy /safe/keys
  helix keys rotate

Backups are encrypted with the keys in data/keys of the home: one for each
user, one for each tenant, one for everything else. Without them no backup
can be restored. Keep a copy on another disk, not with the backups, and
bring it up to date after every backup and every erasure: `copy` into the
same folder destroys there what was destroyed here. A copy that was made
before an erasure still opens what it erased.

Rotate the keys when somebody else may have read them. The next backup is
then written whole, under new keys. Older backups keep the keys that they
have; with --drop-old these are destroyed, and older backups are unreadable.

{EXIT_CODES}
"""

app = typer.Typer(add_completion=False, help=help_text("keys", HELP), no_args_is_help=True)


@app.command()
def show(*, as_json: options.AsJson = False, home: options.Home = options.DEFAULT_HOME) -> None:
    """Say how many keys there are; shows none."""
    folder = _folder(home)
    with KeyStore.held(folder, create=False) as keys:
        facts = {"folder": str(folder), "name": keys.name, "rotations": keys.epoch - 1, "keys": keys.users}
    if as_json:
        typer.echo(json.dumps(facts))
        return
    typer.echo(
        f"{folder}: keys of {facts['keys']} users and tenants, rotated {facts['rotations']} times, "
        f"store {facts['name']}"
    )


@app.command()
def copy(
    target: Annotated[Path, typer.Argument(help="Folder of the copy; made if there is none.")],
    *,
    as_json: options.AsJson = False,
    home: options.Home = options.DEFAULT_HOME,
) -> None:
    """Make a folder the copy of the keys, or bring it up to date."""
    to = target.expanduser().absolute()
    with KeyStore.held(_folder(home), create=False) as keys:
        keys.copy_to(to)
        told = {"folder": str(to), "keys": keys.users}
    typer.echo(json.dumps(told) if as_json else f"{to} has the keys of {told['keys']} users and tenants")
    note("whoever has this folder and a backup reads everything: keep them apart")


@app.command()
def rotate(
    *,
    drop_old: Annotated[
        bool, typer.Option("--drop-old", help="Destroy the older keys; older backups become unreadable.")
    ] = False,
    as_json: options.AsJson = False,
    home: options.Home = options.DEFAULT_HOME,
) -> None:
    """Use new keys from the next backup on."""
    with KeyStore.held(_folder(home), create=False) as keys:
        keys.rotate(drops_old=drop_old)
        told = {"rotations": keys.epoch - 1, "dropped_old": drop_old}
    line = f"rotated {told['rotations']} times; the next backup is written whole, under new keys"
    typer.echo(json.dumps(told) if as_json else line)
    if drop_old:
        note("backups made before are unreadable now: remove them, and make a new one")


def _folder(home: Path) -> Path:
    return HomeFolder.at(home).data / KEYS
