"""Where the tests keep their files."""

import os
from pathlib import Path

import pytest

from tests import temporary


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that stands for the one in memory."""
    monkeypatch.setattr(temporary, "SHARED_MEMORY", tmp_path)
    monkeypatch.setattr(temporary, "ROOM_BYTES", 1)
    return tmp_path


def test_a_run_has_a_folder_of_its_own_and_what_a_killed_one_left_is_removed(memory: Path) -> None:
    """A run that goes on keeps its folder."""
    gone, other = memory / f"{temporary.PREFIX}{2**31}", memory / f"{temporary.PREFIX}{os.getppid()}"
    for folder in (gone, other):
        (folder / "left").mkdir(parents=True)
    assert temporary.folder_in_memory(os.getpid()) == memory / f"{temporary.PREFIX}{os.getpid()}"
    assert (gone.exists(), other.exists()) == (False, True)


def test_without_room_the_disk_is_used(memory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No such folder, too little memory, or a machine that does not tell."""
    monkeypatch.setattr(temporary, "ROOM_BYTES", temporary.available_memory() * 2)
    assert temporary.folder_in_memory(1) is None
    monkeypatch.setattr(temporary, "ROOM_BYTES", 1)
    monkeypatch.setattr(temporary, "_MEMORY", memory / "meminfo")
    assert temporary.folder_in_memory(1) is None
    monkeypatch.undo()
    monkeypatch.setattr(temporary, "SHARED_MEMORY", memory / "none")
    assert temporary.folder_in_memory(1) is None


def test_the_limit_of_a_control_group_counts(memory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container."""
    monkeypatch.setattr(temporary, "_GROUP", memory)
    (memory / "memory.max").write_text("5000\n")
    (memory / "memory.current").write_text("2000\n")
    assert temporary.available_memory() == 3000
