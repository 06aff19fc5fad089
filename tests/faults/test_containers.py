"""The images of compose.yaml are built, its services run, and the demo's questions are answered."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.faults

CHECK = Path(__file__).parents[2] / "ops/containers_check.py"
NO_PODMAN = 3


def test_images_of_compose_are_built_and_answer_the_questions_of_the_demo() -> None:
    """Also after a restart of what holds data; the query image stays below 400 MiB above its base."""
    if shutil.which("podman") is None or shutil.which("runc") is None:
        pytest.skip("podman or runc is missing: the containers cannot be run here")
    checked = subprocess.run([sys.executable, CHECK], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout[-3000:] + checked.stderr[-3000:]


def test_the_check_says_where_podman_is_missing() -> None:
    """A check that could not run must not look like one that passed."""
    command = [sys.executable, CHECK]
    checked = subprocess.run(command, capture_output=True, text=True, check=False, env={"PATH": ""})
    assert checked.returncode == NO_PODMAN
    assert "podman and runc missing" in checked.stderr
