"""The first recall of the README as it is written there, and the first ones of other new users."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from helix_cli.__main__ import app
from helix_cli.home.addresses import NATS_VARIABLE, QUERY_VARIABLE
from helix_cli.stack.stack import Stack

pytestmark = pytest.mark.integration

README = Path(__file__).resolve().parents[3] / "README.md"
MOVING = re.compile(r"\d{4}-\d{2}-\d{2}|\b0\.\d\d\b")
"""Dates and probabilities, which vary: the last digits of vectors differ between processors."""


FIRST_QUESTIONS = [
    ("Search belongs to Tomasz's team since September.", "who owns search?"),
    ("I'm vegetarian, and I don't eat eggs either.", "What diet do I follow?"),
    ("Never start a rollout on a Friday afternoon.", "when may I deploy?"),
]
"""Texts and questions of a new user that share one word or none."""


def block(name: str) -> str:
    """The fenced block below a `first recall` mark of the README."""
    under = README.read_text(encoding="utf-8").split(f"<!-- first recall: {name} -->", 1)[1]
    return under.split("```", 2)[1].partition("\n")[2]


def test_the_first_recall_prints_what_the_readme_shows(stack: Stack) -> None:
    """Only dates and probabilities differ, and the found memory is packed."""
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        NATS_VARIABLE: stack.nats_url,
        QUERY_VARIABLE: stack.query_address,
        "COLUMNS": "120",
    }
    commands = block("commands").strip()
    done = subprocess.run(
        ["bash", "-euc", commands],
        env=environment, capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    printed = [line.rstrip() for line in MOVING.sub("-", done.stdout).splitlines()]
    for line in MOVING.sub("-", block("output")).splitlines():
        assert line.rstrip() in printed, done.stdout
    runner, last = CliRunner(env=environment), shlex.split(commands.splitlines()[-1])
    assert last[:2] == ["helix", "recall"]
    packed = runner.invoke(app, [*last[1:], "--packed"])
    assert (packed.exit_code, "We chose Postgres" in packed.stdout) == (0, True), packed.stderr


@pytest.mark.parametrize(("text", "question"), FIRST_QUESTIONS)
def test_a_question_with_few_words_of_the_answer_finds_it(stack: Stack, text: str, question: str) -> None:
    """Of a tenant that has nothing else."""
    environment = {NATS_VARIABLE: stack.nats_url, QUERY_VARIABLE: stack.query_address}
    tenant, runner = ("--tenant", f"new-{len(text)}"), CliRunner(env=environment)
    said = runner.invoke(app, ["publish", *tenant, "--session", "s1", "--text", text, "--wait"])
    assert said.exit_code == 0, said.stderr
    asked = runner.invoke(app, ["recall", question, *tenant, "--packed"])
    assert (asked.exit_code, text in asked.stdout) == (0, True), asked.stdout + asked.stderr
