"""What `helix` says of a command that does not exist."""

import pytest
from typer.testing import CliRunner

from helix_cli.__main__ import app
from helix_cli.commands.group import COMMANDS, ELSEWHERE, load_command, unknown


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("remember", "`helix publish`"),
        ("search", "`helix recall`"),
        ("recal", "`helix recall`"),
        ("serach", "`helix recall`"),
        ("forget", "`helix memory forget`"),
        ("start", "`helix up`"),
        ("zzzz", "`helix --help` lists all"),
    ],
)
def test_a_wrong_command_names_the_one_that_is_meant(given: str, meant: str) -> None:
    """Names of other programs, and what was typed wrong; usage errors end with 2."""
    result = CliRunner().invoke(app, [given, "--anything"])
    assert (result.exit_code, meant in result.stderr) == (2, True), result.stderr
    assert f"there is no {given!r}" in result.stderr


def test_every_command_that_is_named_exists() -> None:
    """Also the subcommands; no name is one of a command."""
    for name, meant in ELSEWHERE.items():
        assert name not in COMMANDS
        words = [word for word in meant.split() if not word.startswith("--")]
        command = load_command(words[0])
        assert len(words) == 1 or command.get_command(None, words[1]) is not None, meant
        assert meant in unknown(name)
