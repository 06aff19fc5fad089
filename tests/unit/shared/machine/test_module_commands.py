"""Processes of our modules, started in a folder of somebody else."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from helix_shared.machine.processes import module_command
from tests.hostile_folder import HostileFolder, environment_of_children

SPAWNS = """
import multiprocessing
import queue
import nats
import typer

def files(told):
    import queue, nats, typer
    told.put([queue.__file__, nats.__file__, typer.__file__])

if __name__ == "__main__":
    spawn = multiprocessing.get_context("spawn")
    told = spawn.Queue()
    child = spawn.Process(target=files, args=(told,))
    child.start()
    print(*told.get(timeout=30), queue.__file__, nats.__file__, typer.__file__)
    child.join()
"""


def test_nothing_is_imported_from_the_current_folder(tmp_path: Path) -> None:
    """Neither by the process nor by one that it spawns; PYTHONPATH leads to the module as before."""
    hostile = HostileFolder(tmp_path / "checkout")
    (tmp_path / "path").mkdir()
    (tmp_path / "path/spawns.py").write_text(SPAWNS)
    environment = environment_of_children()
    # an empty part would be the current folder
    path = os.pathsep.join(filter(None, (environment["PYTHONPATH"], str(tmp_path / "path"))))
    done = subprocess.run(
        module_command("spawns"),
        cwd=hostile.path,
        env=environment | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.split()) == 6
    assert str(tmp_path) not in done.stdout
    assert hostile.ran == []


@pytest.mark.parametrize("flags", [[], ["-P"]])
def test_the_folder_is_as_hostile_as_it_says(flags: list[str], tmp_path: Path) -> None:
    """`-m` alone runs its modules: the other tests can fail."""
    hostile = HostileFolder(tmp_path / "checkout")
    command = [sys.executable, *flags, "-m", "helix_cli", "--version"]
    subprocess.run(
        command,
        cwd=hostile.path,
        env=environment_of_children(),
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert bool(hostile.ran) == (not flags)
