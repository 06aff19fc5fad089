"""Values of options that are taken as they are: every one is what Typer would have made of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from helix_cli.commands.common import plain_values
from helix_cli.commands.group import COMMANDS, load_command

TEXTS = (
    "",
    "a",
    "5",
    "0",
    "007",
    "-1",
    "1000000000",
    "dense",
    "Dense",
    "oldest",
    "project",
    "claude-code",
    "/",
    "-",
)
LISTS: tuple[tuple[str, ...], ...] = (("a",), ("a", "", "5"), ())


def parameters(command: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    """Every parameter of a command and of those below it, with the name and the context of its command."""
    context = typer.Context(command)
    for one in command.get_params(context):
        yield f"{path} {one.name}", one, context
    for name in command.list_commands(context) if hasattr(command, "list_commands") else ():
        yield from parameters(command.get_command(context, name), f"{path} {name}")


def converted(parameter: Any, value: Any, context: Any) -> Any:
    """What Typer makes of a value; its error where it refuses the value."""
    try:
        return parameter.get_runtime_param().coerce(value, param=parameter, ctx=context)
    except typer.BadParameter as error:
        return error


def test_a_value_that_is_taken_as_it_is_is_what_a_conversion_returns() -> None:
    """Of every parameter of every command, for values that people give and for the default."""
    taken, wrong = 0, []
    for name in COMMANDS:
        for label, parameter, context in parameters(load_command(name), name):
            is_list = parameter.multiple or parameter.nargs == -1
            for value in (None, parameter.default, *(LISTS if is_list else TEXTS)):
                plain = plain_values.plain_value(parameter, value)
                if plain is plain_values._TO_CONVERT:
                    continue
                taken += 1
                expected = converted(parameter, value, context)
                if (type(plain), plain) != (type(expected), expected):
                    wrong.append((label, value, plain, expected))
    assert wrong == []
    assert taken > len(COMMANDS) * 10


def test_a_folder_that_cannot_be_read_is_converted(tmp_path: Path) -> None:
    """A conversion refuses it, and what is no folder."""
    found = {label: one for label, one, _ in parameters(load_command("recall"), "recall")}
    home = found["recall home"]
    assert plain_values.plain_value(home, str(tmp_path)) == tmp_path
    assert plain_values.plain_value(home, str(tmp_path / "none")) is plain_values._TO_CONVERT
