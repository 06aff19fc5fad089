"""What a shell completes, as the shell asks: commands, their commands, options, and values of options."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from helix_cli.__main__ import app
from helix_cli.commands.group import COMMANDS


def completed(words: str, **environment: str) -> list[str]:
    """What bash is told for the last word of a line; a space at its end begins a new word."""
    env = {
        "_HELIX_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
    }
    result = CliRunner(env={"HELIX_TENANT": "", **env, **environment}).invoke(app, prog_name="helix")
    assert result.exit_code == 0, result.output
    return result.stdout.split()


def test_every_command_is_completed_from_the_table() -> None:
    """Its first letters are enough."""
    assert set(completed("helix ")) == set(COMMANDS)
    assert completed("helix mem") == ["memory"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("helix memory ", {"ls", "show", "correct", "forget", "restore", "erase", "history", "undo", "pin"}),
        ("helix session ", {"ls", "show"}),
        ("helix memory ls --t", {"--tenant", "--type", "--tz"}),
        ("helix memory erase --of", {"--of-session", "--of-document", "--of-user"}),
        ("helix import --fr", {"--from"}),
        ("helix import --from ze", {"zep"}),
        ("helix recall q --type p", {"procedural"}),
        ("helix publish --type e", {"episodic"}),
    ],
)
def test_commands_options_and_values_are_completed(words: str, expected: set[str]) -> None:
    """The command's module is imported for that, and nothing is asked."""
    assert expected <= set(completed(words))


def test_ranking_profiles_are_those_of_the_package_and_of_the_operator(tmp_path: Path) -> None:
    """Read from the names of the files."""
    (tmp_path / "houseplants.toml").touch()
    found = completed("helix recall q --profile h", HELIX_QUERY_PROFILES_DIR=str(tmp_path))
    assert {"helix", "houseplants"} <= set(found)


def test_tenants_are_those_that_this_machine_names(tmp_path: Path) -> None:
    """By the variable, or by the users of a secured home; no service is asked."""
    users = tmp_path / "security" / "nats"
    users.mkdir(parents=True)
    for user in ("tenant-acme", "tenant-apex", "operator"):
        (users / user).touch()
    home = {"HELIX_HOME": str(tmp_path)}
    assert completed("helix recall q --tenant a", **home) == ["acme", "apex"]
    assert completed("helix recall q --tenant a", HELIX_TENANT="arc", **home) == ["arc", "acme", "apex"]
    assert completed("helix recall q --tenant a", HELIX_HOME=str(tmp_path / "none")) == []
