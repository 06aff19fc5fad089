"""The commands of `helix memory`; `change` publishes and waits, `state` tells what changed."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Final

import typer

from helix_cli.commands.erase import HELP as ERASE_HELP
from helix_cli.commands.erase import erase_command
from helix_cli.commands.group import COMMANDS, help_text
from helix_cli.commands.memory import state
from helix_cli.commands.memory.arguments import MemoryId, MemoryIds
from helix_cli.commands.memory.change import Changes, with_change_options
from helix_cli.commands.memory.history import history_command
from helix_cli.commands.memory.listing import ls_command, show_command
from helix_cli.output.exit_codes import EXIT_CODES

_ENDS: Final = f"""

What stays as it was is named on standard error with the reason.

{EXIT_CODES}
"""

app = typer.Typer(help=COMMANDS["memory"].summary, no_args_is_help=True, add_completion=False)
app.command("history")(history_command)
app.command("ls", help=f"List memories, a page at a time.\n\n{EXIT_CODES}")(ls_command)
app.command("show", help=f"Show one memory with where it came from.\n\n{EXIT_CODES}")(show_command)
app.command("erase", help=help_text("erase", ERASE_HELP))(erase_command)


@app.command(
    "forget", help=f"Hide memories with all their versions; `helix memory restore` shows them again.{_ENDS}"
)
@with_change_options
def forget_command(memory_ids: MemoryIds, changes: Changes) -> None:
    """Publish a forget for each."""
    events = {one: {"memory_ids": [one]} for one in changes.ids(memory_ids)}
    changes.publish("forget", events, partial(state.forgotten, named=list(events)))


@app.command("restore", help=f"Show memories again that were forgotten, or that decay hides.{_ENDS}")
@with_change_options
def restore_command(memory_ids: MemoryIds, changes: Changes) -> None:
    """Publish a restore for each."""
    events = {one: {"memory_ids": [one], "restore": True} for one in changes.ids(memory_ids)}
    changes.publish("forget", events, state.restored)


UNDO_HELP: Final = f"""Take back how memories were related to others: what they closed holds again, for good.

A correction is taken back too: the version before holds again. Name the correction, or the first version
to take back all its corrections. `helix memory restore` brings a correction back.{_ENDS}"""


@app.command("undo", help=UNDO_HELP)
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


@app.command("correct", help=CORRECT_HELP)
@with_change_options
def correct_command(
    memory_id: MemoryId, text: Annotated[str, typer.Argument(help="The new text.")], changes: Changes
) -> None:
    """Publish a correction."""
    [whole] = changes.ids([memory_id])
    changes.correct({whole: {"text": text}}, done="corrected")


@app.command("pin", help=f"Pin memories: decay never hides them.{_ENDS}")
@with_change_options
def pin_command(memory_ids: MemoryIds, changes: Changes) -> None:
    """Publish a correction for each."""
    changes.correct({one: {"pinned": True} for one in changes.ids(memory_ids)}, done="pinned")


@app.command("unpin", help=f"Take a pin off memories.{_ENDS}")
@with_change_options
def unpin_command(memory_ids: MemoryIds, changes: Changes) -> None:
    """Publish a correction for each."""
    changes.correct({one: {"pinned": False} for one in changes.ids(memory_ids)}, done="unpinned")
