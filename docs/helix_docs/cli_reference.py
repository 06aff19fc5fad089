"""The reference of the `helix` command as Markdown, from the parser that reads its arguments."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from typing import Any, Final, get_args

from helix_cli.commands.group import COMMANDS, load_command
from helix_cli.output.exit_codes import EXIT_CODES

_CODES: Final = " ".join(EXIT_CODES.split())
_HEADING: Final = re.compile(r"\[bold\](.*?)\[/bold\]")
_NAMES: Final = {bool: "flag", int: "integer", float: "number", str: "text"}


def cli_reference() -> str:
    """Every command with its help, its arguments and its options."""
    return "\n".join(_lines())


def commands() -> Iterator[tuple[str, Any]]:
    """Every command that can be run, with the words that run it, such as `helix memory ls`; also groups."""
    for name in COMMANDS:
        yield from _with_subcommands(f"helix {name}", load_command(name))


def _with_subcommands(words: str, command: Any) -> Iterator[tuple[str, Any]]:
    yield words, command
    for name, one in getattr(command, "commands", {}).items():
        yield from _with_subcommands(f"{words} {name}", one)


def _lines() -> Iterator[str]:
    yield from ("| command | what |", "|---|---|")
    yield from (
        f"| [`helix {name}`](#helix-{name}) | {_cell(entry.summary)} |" for name, entry in COMMANDS.items()
    )
    yield from ("", f"{_CODES}", "", "`helix --help` and `helix COMMAND --help` show the same.", "")
    for words, command in commands():
        yield from (f"{'##' if words.count(' ') == 1 else '###'} {words}", "")
        yield from _help(command.help or "")
        if not hasattr(command, "commands"):
            yield from (f"```text\n{_usage(words, command)}\n```", "", *_table(command))


def _usage(words: str, command: Any) -> str:
    arguments = [
        name if one.required else f"[{name}]" for one in _arguments(command) if (name := _shown_name(one))
    ]
    return " ".join([words, "[OPTIONS]", *arguments])


def _help(text: str) -> Iterator[str]:
    """Paragraphs as they are, indented lines as code, and the exit codes, which all share, left out."""
    for paragraph in re.split(r"\n{2,}", text.strip("\n")):
        if " ".join(paragraph.split()) == _CODES:
            continue
        lines = paragraph.split("\n")
        if all(line.startswith("  ") for line in lines):
            yield from ("```text", *(line[2:] for line in lines), "```", "")
            continue
        for line in lines:
            yield _HEADING.sub(r"**\1**", _plain(line))
        yield ""


def _table(command: Any) -> Iterator[str]:
    shown = [one for one in command.params if not one.hidden]
    if not shown:
        return
    yield from ("| argument or option | value | default | what |", "|---|---|---|---|")
    for one in shown:
        yield f"| {_names(one)} | {_kind(one)} | {_default(one)} | {_what(one)} |"
    yield ""


def _arguments(command: Any) -> list[Any]:
    return [one for one in command.params if not one.opts[0].startswith("-")]


def _shown_name(one: Any) -> str:
    return f"{(one.metavar or one.name).upper()}{'...' if one.nargs != 1 else ''}"


def _names(one: Any) -> str:
    if not one.opts[0].startswith("-"):
        return f"`{_shown_name(one)}`"
    return ", ".join(f"`{name}`" for name in (*one.opts, *one.secondary_opts))


def _kind(one: Any) -> str:
    annotation = one.type_descriptor.annotation
    [kind] = get_args(annotation) or (annotation,)
    if issubclass(kind, Enum):
        shown = ", ".join(f"`{value.value}`" for value in kind)
    else:
        shown = _NAMES.get(kind, "path")
    low, high = getattr(one, "min", None), getattr(one, "max", None)
    if low is not None or high is not None:
        shown += f", {'' if low is None else low} to {'' if high is None else high}".rstrip()
    return f"{shown}, repeatable" if getattr(one, "multiple", False) else shown


def _default(one: Any) -> str:
    if one.required:
        return "required"
    if one.default in (None, "", False) or callable(one.default):
        return ""
    value = one.default.value if isinstance(one.default, Enum) else one.default
    return f"`{'on' if value is True else value}`"


def _what(one: Any) -> str:
    variables = [one.envvar] if isinstance(one.envvar, str) else one.envvar or []
    also = f" Also: {', '.join(f'`{name}`' for name in variables)}." if variables else ""
    return _cell(_plain(one.help or "")) + also


def _plain(text: str) -> str:
    r"""Text without the `\[` of the terminal's markup; `<` begins no tag."""
    return re.sub(r"<(?![^`]*`)", "&lt;", text.replace("\\[", "["))


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
