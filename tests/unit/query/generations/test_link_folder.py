"""The scratch folder: this process's own, gone afterwards, and where links can be made."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from helix_query.generations import link_folder
from helix_query.generations.link_folder import PREFIX, scratch_folder


@pytest.fixture(autouse=True)
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in the place of shared memory, and another in that of temporary files."""
    folder = tmp_path / "memory"
    folder.mkdir()
    (tmp_path / "disk").mkdir()
    monkeypatch.setattr(link_folder, "SHARED_MEMORY", folder)
    monkeypatch.setattr(link_folder.tempfile, "gettempdir", lambda: str(tmp_path / "disk"))
    monkeypatch.setattr(os, "getuid", lambda: 0)
    return folder


def test_it_is_in_memory_and_goes_with_the_block(memory: Path) -> None:
    """Nothing stays, though links of the folder still lie in it."""
    with scratch_folder() as folder:
        assert folder.parent == memory
        (folder / "link").symlink_to("nowhere")
    assert list(memory.iterdir()) == []


def test_a_user_who_may_log_out_gets_a_temporary_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Shared memory of other than system users may be removed with their last session."""
    monkeypatch.setattr(os, "getuid", lambda: 1_000)
    with scratch_folder() as folder:
        assert folder.parent == tmp_path / "disk"


def test_memory_without_room_for_a_link_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder can be made where a link with a long target cannot."""

    def no_room(_path: Path, _target: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "symlink_to", no_room)
    with scratch_folder() as folder:
        assert folder.parent == tmp_path / "disk"


def test_folders_of_the_dead_are_removed(memory: Path) -> None:
    """A process that was killed leaves its folder; the next one takes it away, and nobody else's."""
    ended = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], check=True, stdout=-1)
    dead, alive = (memory / f"{PREFIX}{pid}-x" for pid in (int(ended.stdout), os.getppid()))
    for folder in (dead, alive, memory / f"{PREFIX}unknown"):
        (folder / "lexicon").mkdir(parents=True)
    with scratch_folder():
        assert not dead.exists()
        assert alive.exists()
    assert (memory / f"{PREFIX}unknown").exists()
