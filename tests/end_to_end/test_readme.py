"""The README's first recall, run as it stands there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from helix_cli.options import NATS_VARIABLE, QUERY_VARIABLE
from helix_cli.stack import Stack

pytestmark = pytest.mark.integration

README = Path(__file__).resolve().parents[2] / "README.md"
DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


def block(name: str) -> str:
    """The fenced block under one of the README's `first recall` marks."""
    under = README.read_text(encoding="utf-8").split(f"<!-- first recall: {name} -->", 1)[1]
    return under.split("```", 2)[1].partition("\n")[2]


def test_the_first_recall_prints_what_the_readme_shows(tmp_path: Path, models_dir: Path) -> None:
    """Commands and output are the ones a new user reads first; only the date moves."""
    with Stack(tmp_path / "home", nats_port=0, query_port=0, models=models_dir) as stack:
        stack.wait_ready()
        environment = os.environ | {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            NATS_VARIABLE: stack.nats_url,
            QUERY_VARIABLE: stack.query_address,
            "COLUMNS": "120",
        }
        done = subprocess.run(
            ["bash", "-euc", block("commands")],
            env=environment, capture_output=True, text=True, check=True, timeout=120,
        )  # fmt: skip
    printed = [line.rstrip() for line in DATE.sub("DATE", done.stdout).splitlines()]
    for line in DATE.sub("DATE", block("output")).splitlines():
        assert line.rstrip() in printed, done.stdout
