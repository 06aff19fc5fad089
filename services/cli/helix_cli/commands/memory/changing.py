"""The commands of `helix memory` that change memories: `change` publishes, `state` tells what changed.

`app` adds `commands` to those that read.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated, Final

import typer

from helix_cli.commands.erase import HELP as ERASE_HELP
from helix_cli.commands.erase import erase_command
from helix_cli.commands.group import help_text
from helix_cli.commands.memory import state
from helix_cli.commands.memory.arguments import MemoryId, MemoryIds
from helix_cli.commands.memory.change import Changes, with_change_options
from helix_cli.output.exit_codes import EXIT_CODES
from helix_shared.errors import InvalidInputError

_ENDS: Final = f"""

What stays as it was is named on standard error with the reason.

{EXIT_CODES}
"""

commands = typer.Typer(add_completion=False)
commands.command("erase", help=help_text("erase", ERASE_HELP))(erase_command)


@commands.command(
    "forget", help=f"Hide memories with all their versions; `helix memory restore` shows them again.{_ENDS}"
)
@with_change_options
def forget_command(memory_ids: MemoryIds, changes: Changes) -> None:
    """Publish a forget for each."""
    events = {one: {"memory_ids": [one]} for one in changes.ids(memory_ids)}
    changes.publish("forget", events, partial(state.forgotten, named=list(events)))


@commands.command("restore", help=f"Show memories again that were forgotten, or that decay hides.{_ENDS}")
@with_change_options
def restore_command(memory_ids: MemoryIds, changes: Changes) -> None:
    """Publish a restore for each."""
    events = {one: {"memory_ids": [one], "restore": True} for one in changes.ids(memory_ids)}
    changes.publish("forget", events, state.restored)


UNDO_HELP: Final = f"""Take back how memories were related to others: what they closed holds again, for good.

A correction is taken back too: the version before holds again. Name the correction, or the first version
to take back all its corrections. `helix memory restore` brings a correction back.{_ENDS}"""


@commands.command("undo", help=UNDO_HELP)
@with_change_options
def undo_command(
    memory_ids: MemoryIds,
    other: Annotated[
        str, typer.Option("--other", help="Take back only the relation to this memory; else all.")
    ] = "",
    *,
    changes: Changes,
) -> None:
    """Publish an undo for each."""
    [other] = changes.ids([other]) if other else [""]
    events = {one: {"memory_id": one, "other": other} for one in changes.ids(memory_ids)}
    changes.publish("undo", events, partial(state.undone, other=other))


CORRECT_HELP: Final = f"""Give a memory a new text, as its next version; all else of it stays.

  helix memory correct 4f0c1a2b "We deploy on Thursdays." --tenant acme

`helix memory undo` takes a correction back. `helix publish --kind correct` corrects other fields.{_ENDS}"""


@commands.command("correct", help=CORRECT_HELP)
@with_change_options
def correct_command(
    memory_id: MemoryId, text: Annotated[str, typer.Argument(help="The new text.")], changes: Changes
) -> None:
    """Publish a correction."""
    if not text.strip():
        raise InvalidInputError("text", "must hold more than white space")
    [whole] = changes.ids([memory_id])
    changes.correct({whole: {"text": text}}, done="corrected")


@commands.command("pin", help=f"Pin memories: decay never hides them.{_ENDS}")
@with_change_options
def pin_command(memory_ids: MemoryIds, changes: Changes) -> None:
    """Publish a correction for each."""
    changes.correct({one: {"pinned": True} for one in changes.ids(memory_ids)}, done="pinned")


@commands.command("unpin", help=f"Take a pin off memories.{_ENDS}")
@with_change_options
def unpin_command(memory_ids: MemoryIds, changes: Changes) -> None:
    """Publish a correction for each."""
    changes.correct({one: {"pinned": False} for one in changes.ids(memory_ids)}, done="unpinned")
