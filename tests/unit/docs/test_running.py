import sys
from dataclasses import replace
from pathlib import Path

import pytest

from helix_docs import running
from helix_docs.programs import Program
from helix_docs.running import run


def test_a_program_prints_what_its_page_says() -> None:
    """Dates, numbers and the end of a line may differ; addresses are those of the running Helix."""
    program = Program(
        "a.md",
        "sh",
        'echo "rank 7, 2026-11-24 at 127.0.0.1:7464"  \n',
        prints="rank 1, 2020-01-01 at there\n",
    )
    assert run(program, {"127.0.0.1:7464": "there"}, {}).problem == ""


@pytest.mark.parametrize(
    ("text", "prints", "problem"),
    [
        ("echo other\n", "one\n", "the page says it prints"),
        ("exit 3\n", None, "it ended with 3"),
        ("false | cat\n", None, "it ended with 1"),
    ],
)
def test_a_program_that_does_something_else_is_a_problem(text: str, prints: str | None, problem: str) -> None:
    """The control: a wrong page is found."""
    assert problem in run(Program("a.md", "sh", text, prints=prints), {}, {}).problem


def test_a_program_whose_language_is_not_installed_is_said_not_to_have_run() -> None:
    """It is neither a success nor a failure."""
    outcome = run(Program("a.md", "sh", "no-such-program\n", ("no-such-program",)), {}, {})
    assert "not run" in str(outcome)
    assert "no-such-program is not installed" in str(outcome)
    assert outcome.problem == ""


def test_a_program_gets_the_addresses_of_the_running_helix() -> None:
    """By variables that the examples read."""
    program = Program("a.md", "python", "import os; print(os.environ['HELIX_MCP_URL'])\n", prints="x\n")
    assert run(program, {}, {"HELIX_MCP_URL": "x"}).problem == ""


def test_a_program_of_a_framework_runs_in_its_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """With the package of the client; where it is missing, the report says what to run."""
    program = Program("a.md", "python", "import helix_memory, sys; print(sys.argv)\n", ("frameworks",))
    monkeypatch.setattr(running, "FRAMEWORKS_PYTHON", tmp_path / "python")
    assert "make adapters-setup" in str(run(program, {}, {}))
    (tmp_path / "python").write_text(f'#!/bin/sh\necho "$PYTHONPATH"\nexec {sys.executable} "$@"\n')
    (tmp_path / "python").chmod(0o755)
    asked = replace(program, prints=f"{running.ROOT / 'proto'}\n['-c']\n")
    assert run(asked, {}, {}).problem == ""
    assert "the page says" in run(replace(asked, needs=()), {}, {}).problem
