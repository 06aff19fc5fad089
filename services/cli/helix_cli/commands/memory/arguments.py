"""The arguments and options of `helix memory`: whose memories are meant, by which ids."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from helix_cli.commands.common.memory_ids import ENOUGH

_ID_HELP: Final = f"as `helix recall --json` prints it, or {ENOUGH}."
MemoryId = Annotated[str, typer.Argument(help=f"Id of the memory, {_ID_HELP}")]
MemoryIds = Annotated[list[str], typer.Argument(help=f"Id of a memory, {_ID_HELP} Several may be given.")]
User = Annotated[str, typer.Option("--user", help="User for whom you act; without one, the tenant.")]
Principals = Annotated[
    list[str] | None, typer.Option("--principal", help="Principal of the caller; may be repeated.")
]
Acl = Annotated[list[str] | None, typer.Option("--acl", help="Principal; may be repeated.")]
