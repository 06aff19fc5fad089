"""The reference of the command line has all that the parser takes."""

import re
from typing import Any

import pytest
from typer.testing import CliRunner

from helix_cli.__main__ import app
from helix_cli.commands import group
from helix_docs.cli_reference import cli_reference, commands

MARKUP = re.compile(r"(?<!\\)\[/?[a-z][^\]\n]*\]")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]+")


@pytest.fixture(scope="module")
def sections() -> dict[str, str]:
    """Text of the reference by command."""
    parts = re.split(r"^#{2,3} (helix .+)$", cli_reference(), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_every_command_of_the_overview_has_a_section(sections: dict[str, str]) -> None:
    """`helix --help` names nothing that the reference lacks; groups have their subcommands."""
    shown = CliRunner(env={"COLUMNS": "200"}).invoke(app, ["--help"]).stdout
    named = set(re.findall(r"^│ ([a-z][a-z-]*) ", shown, re.MULTILINE))
    assert set(group.COMMANDS) == named
    assert {f"helix {name}" for name in named} <= sections.keys()
    assert {"helix memory ls", "helix models import", "helix security token"} <= sections.keys()


def test_every_option_that_help_shows_is_in_its_section(sections: dict[str, str]) -> None:
    """Asked as a user asks, command by command; `--help` and completion are of every command."""
    runner = CliRunner(env={"COLUMNS": "220"})
    asked = 0
    for words, command in commands():
        if hasattr(command, "commands"):
            continue
        result = runner.invoke(app, [*words.split()[1:], "--help"])
        assert result.exit_code == 0, result.output
        rows = [line for line in result.stdout.splitlines() if re.match(r"^│ (\*\s+)?\s*(-\w, )?--", line)]
        options = {found[0] for line in rows if (found := OPTION.findall(line))} - {"--help"}
        missing = [one for one in options if f"`{one}`" not in sections[words]]
        assert not missing, f"{words}: {missing}"
        asked += len(options)
    assert asked > 200


def test_a_new_command_appears_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: the reference is made from the table of commands, with defaults, limits and variables."""
    monkeypatch.setitem(group.COMMANDS, "again", group.Entry("memory.app", "A second name of memory."))
    text = cli_reference()
    assert "## helix again" in text
    row = next(line for line in text.splitlines() if line.startswith("| `--limit` "))
    assert row == "| `--limit` | integer, 1 to 200 | `20` | Entries of a page at most. |"
    assert "Also: `HELIX_TENANT`." in text


@pytest.mark.parametrize(
    ("words", "command"), list(commands()), ids=lambda one: one if isinstance(one, str) else ""
)
def test_no_help_loses_brackets_to_the_terminal(words: str, command: Any) -> None:
    """`[gateway]` in a help text is markup to the terminal and vanishes; it has to be escaped."""
    texts = [command.help or "", *(getattr(one, "help", None) or "" for one in command.params)]
    lost = {tag for text in texts for tag in MARKUP.findall(text)} - {"[bold]", "[/bold]"}
    assert not lost, f"{words}: {lost}"


WITHOUT_JSON = {"helix up", "helix gateway", "helix mcp"}
"""Commands that serve until they are ended: what they print is a log or a protocol."""


def test_every_command_prints_json_for_programs() -> None:
    """Also those that change something; the exceptions are the ones that serve."""
    options = {
        words: {name for parameter in command.params for name in parameter.opts}
        for words, command in commands()
        if not hasattr(command, "commands")
    }
    assert len(options) > 40
    assert {words for words, names in options.items() if "--json" not in names} == WITHOUT_JSON
