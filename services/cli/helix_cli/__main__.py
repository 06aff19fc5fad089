"""The program `helix`: the command group with its own options; `commands.group` lists the commands."""

from __future__ import annotations

import atexit
import gc
import os
import stat
import sys
from io import TextIOWrapper
from typing import Annotated, Final

import typer

from helix_cli.commands.common.plain_values import take_plain_values
from helix_cli.commands.group import HelixGroup
from helix_cli.output.exit_codes import EXIT_CODES
from helix_cli.output.logs import set_log_level

GARBAGE_AFTER: Final = 100_000
"""New objects between two collections of garbage. By default some thirty run while a command is imported;
they take an eighth of its processor time."""
DISTRIBUTION: Final = "helix-memory-cli"
HELP: Final = f"""Memory for agents: publish what happens, recall it in milliseconds.
No GPU, no key, no network.

[bold]Start[/bold]

  helix up
  helix publish --tenant acme --session s1 --text "We chose Postgres."
  helix recall "which database did we choose?" --tenant acme

`helix up` stays in its terminal. The other commands find it by its home, or
use the addresses of --nats and --query (HELIX_NATS_URL,
HELIX_RECALL_ADDRESS). HELIX_TENANT replaces --tenant.

{EXIT_CODES}
"""

app = typer.Typer(
    name="helix",
    cls=HelixGroup,
    help=HELP,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(*, is_wanted: bool) -> None:
    if is_wanted:
        from importlib.metadata import version  # noqa: PLC0415  slow to import

        typer.echo(f"helix {version(DISTRIBUTION)}")
        raise typer.Exit


@app.callback()
def prepare(
    *,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Write the logs of the connections to standard error.")
    ] = False,
    show_version: Annotated[
        bool,
        typer.Option("--version", is_eager=True, callback=_print_version, help="Print the version and exit."),
    ] = False,
) -> None:
    """Set the log level before a command runs."""
    del show_version
    set_log_level(verbose=verbose)


def main() -> None:
    """Run the program.

    What the encoding of an output does not have is printed as `?`. No file that the program or its children
    make may be written by every user.
    """
    gc.set_threshold(GARBAGE_AFTER, *gc.get_threshold()[1:])
    # the interpreter would look for garbage once more before it ends: a fifth of the time of a command
    atexit.register(gc.freeze)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    take_plain_values()
    os.umask(os.umask(stat.S_IWOTH) | stat.S_IWOTH)
    app()


if __name__ == "__main__":
    main()
