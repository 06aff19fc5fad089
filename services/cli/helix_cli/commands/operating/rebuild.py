"""`helix rebuild`: all memories again from the log, beside what is served or in the place of what is broken.

`helix_cli.rebuilding` does it; this module chooses model and settings, and prints what came out.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Final

import typer

from helix_cli.commands.common.options import DEFAULT_HOME, AsJson, Home, Nats, Query
from helix_cli.commands.group import help_text
from helix_cli.home.folder import HomeFolder
from helix_cli.output.exit_codes import EXIT_CODES

HELP: Final = f"""
[bold]Examples[/bold]

  helix rebuild
  helix rebuild --check              (what was made with which versions; changes nothing)
  helix rebuild --discard-old        (removes what earlier rebuilds replaced)
  helix rebuild --from-archive ~/.helix/data/archive

Makes every memory again from the log HELIX_EVENTS, with the rules that are
installed and the model in use, compares the result with what is there, and
puts it in its place in one step. It needs no `helix up`: without one it starts
the NATS server of the home for itself. That is the way out where the data
folder is missing, damaged, or of another release. With a `helix up` it works
beside it, and recalls are answered all the time. So it does with --pause-writer
where the services run in containers, in one that has the data folder of the
writer and the models below its home: ingest goes on, the writer pauses for the rest.

It may be ended and called again: it continues where it was. What it replaces
stays in data/replaced until --discard-old, or until something is erased.

With --from-archive, events are read from the archive of the log as far as it
goes, and later ones from the log. Events that the log has lost are made again,
too; the turns around an event are read from the log. With several shards it
needs --shard, since the archive of each has the events of its own tenants.

If the result differs although rules, settings and model are the same, nothing is
replaced, the differences are listed, and it ends with 1.

{EXIT_CODES}
"""

app = typer.Typer(add_completion=False)


@app.command(help=help_text("rebuild", HELP))
def rebuild_command(
    *,
    check: Annotated[
        bool, typer.Option("--check", help="Only tell what the data folder was made with; 1 if that differs.")
    ] = False,
    from_archive: Annotated[
        Path | None,
        typer.Option("--from-archive", help="Folder of the archive from which events are read."),
    ] = None,
    accept_differences: Annotated[
        bool, typer.Option("--accept-differences", help="Replace what is there although memories differ.")
    ] = False,
    shard: Annotated[
        int | None, typer.Option("--shard", min=0, help="Only this shard. Default: one after the other.")
    ] = None,
    pause_writer: Annotated[
        bool,
        typer.Option(
            "--pause-writer",
            help="The services run in containers: their writer pauses for the rest. Needs --nats.",
        ),
    ] = False,
    discard_old: Annotated[
        bool, typer.Option("--discard-old", help="Only remove what earlier rebuilds replaced.")
    ] = False,
    every_seconds: Annotated[
        float, typer.Option("--every", min=0.1, help="Seconds between two lines about the progress.")
    ] = 5.0,
    as_json: AsJson = False,
    nats: Nats = "",
    query: Query = "",
    home: Home = DEFAULT_HOME,
) -> None:
    """Rebuild, or one of the two smaller things."""
    from helix_cli.commands.common import rebuilding  # noqa: PLC0415  the engines are slow to import

    folder = HomeFolder.at(home)
    if discard_old:
        removed = rebuilding.discard(folder)
        typer.echo(json.dumps(removed) if as_json else "\n".join(removed) or "nothing was set aside")
    elif check:
        rebuilding.check_versions(folder, as_json=as_json)
    else:
        rebuilding.rebuild_home(
            folder,
            shard=shard,
            nats=nats,
            query=query,
            archive=None if from_archive is None else from_archive.expanduser().absolute(),
            accepts_differences=accept_differences,
            every_seconds=every_seconds,
            as_json=as_json,
            is_beside_others=pause_writer,
        )
