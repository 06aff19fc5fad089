"""The link folder: private to this process, and removed after it."""

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from helix_query.generations.link_folder import PREFIX, link_folder


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of temporary files."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_the_folder_is_removed_with_its_links(temporary: Path) -> None:
    """Also while links are left in it."""
    with link_folder() as folder:
        assert folder.parent == temporary
        (folder / "link").symlink_to("nowhere")
    assert list(temporary.iterdir()) == []


def test_folders_of_killed_processes_are_removed(temporary: Path) -> None:
    """Those of running processes and of other programs stay."""
    ended = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], check=True, stdout=-1)
    parent = subprocess.run([sys.executable, "-c", "import os; print(os.getppid())"], check=True, stdout=-1)
    dead, running = (temporary / f"{PREFIX}{int(run.stdout)}-x" for run in (ended, parent))
    for folder in (dead, running, temporary / f"{PREFIX}unknown"):
        (folder / "lexicon").mkdir(parents=True)
    with link_folder():
        assert not dead.exists()
        assert running.exists()
    assert (temporary / f"{PREFIX}unknown").exists()
