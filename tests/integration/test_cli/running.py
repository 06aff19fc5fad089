"""Helpers of the tests of the stack."""

from pathlib import Path

from typer.testing import CliRunner

from helix_cli.__main__ import app


def run(home: Path, *arguments: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a command on this home."""
    runner = CliRunner(env={"COLUMNS": "140", "HELIX_TENANT": "acme", "HELIX_HOME": str(home)})
    result = runner.invoke(app, list(arguments))
    return result.exit_code, result.stdout, result.stderr
