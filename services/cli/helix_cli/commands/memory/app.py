"""`helix memory`: the commands that read are here; those of `changing` are imported when one of them runs.

Those that read need no client of NATS and no models of events, which take a third of their time.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

import typer
from typer.core import TyperGroup

from helix_cli.commands.group import COMMANDS
from helix_cli.commands.memory.history import history_command
from helix_cli.commands.memory.listing import ls_command, show_command
from helix_cli.output.exit_codes import EXIT_CODES

CHANGING: Final = "helix_cli.commands.memory.changing"


class MemoryGroup(TyperGroup):
    """Has the commands that read at once, and all as soon as another one is asked for."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command by its name; None: there is none."""
        if cmd_name not in self.commands:
            self._add_changing()
        return super().get_command(ctx, cmd_name)

    def list_commands(self, ctx: Any) -> list[str]:
        """Names of all, for the help and completion."""
        self._add_changing()
        return super().list_commands(ctx)

    def _add_changing(self) -> None:
        more: Any = typer.main.get_command(import_module(CHANGING).commands)
        self.commands = {**self.commands, **more.commands}


app = typer.Typer(
    cls=MemoryGroup, help=COMMANDS["memory"].summary, no_args_is_help=True, add_completion=False
)
app.command("history")(history_command)
app.command("ls", help=f"List memories, a page at a time.\n\n{EXIT_CODES}")(ls_command)
app.command("show", help=f"Show one memory with where it came from.\n\n{EXIT_CODES}")(show_command)
