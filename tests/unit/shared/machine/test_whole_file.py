"""Files that are replaced in one step."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from helix_shared.machine.whole_file import SECRET, remove_drafts, write_whole


def test_a_file_and_the_folders_above_it_are_written(tmp_path: Path) -> None:
    """Nothing else stays beside it."""
    path = tmp_path / "a" / "b.json"
    write_whole(path, b"one", synced=True)
    write_whole(path, b"two")
    assert path.read_bytes() == b"two"
    assert [one.name for one in path.parent.iterdir()] == ["b.json"]


def test_a_secret_is_never_readable_for_others(tmp_path: Path) -> None:
    """Not even where a file of everybody stood before."""
    path = tmp_path / "token"
    path.write_bytes(b"old")
    path.chmod(0o644)
    write_whole(path, b"new", mode=SECRET)
    assert path.stat().st_mode & 0o777 == SECRET


def test_a_write_that_fails_leaves_the_file_and_no_draft(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a full disk."""
    path = tmp_path / "kept"
    write_whole(path, b"kept")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_whole(path, b"lost", synced=True)
    assert path.read_bytes() == b"kept"
    assert [one.name for one in tmp_path.iterdir()] == ["kept"]


KILLED = """
import os, signal, sys
from pathlib import Path
from helix_shared.machine import whole_file

os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)
whole_file.write_whole(Path(sys.argv[1]), b"secret", synced=True)
"""


def test_the_draft_of_a_killed_process_is_removed_and_that_of_a_running_one_stays(tmp_path: Path) -> None:
    """The control: it is there before, and hidden files of other kinds are never touched."""
    write_whole(tmp_path / "state.json", b"whole")
    ended = subprocess.run([sys.executable, "-c", KILLED, tmp_path / "state.json"], check=False)
    assert ended.returncode < 0
    [left] = tmp_path.glob(".state.json.*")
    assert left.read_bytes() == b"secret"
    dead = left.suffix
    kept = [f".state.json.{os.getpid()}", f".folder{dead}", ".gitignore", ".version.2x", f"plain{dead}"]
    for name in kept:
        (tmp_path / name).mkdir() if "folder" in name else (tmp_path / name).touch()
    assert remove_drafts(tmp_path) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*kept, "state.json"])
    assert remove_drafts(tmp_path / "nothing") == 0
