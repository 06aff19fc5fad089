"""Held folders: files stay readable without their folder, and closing removes all links."""

from __future__ import annotations

import contextlib
import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest

from helix_shared.artifacts.files.held_folder import HeldFolder
from helix_shared.errors import CorruptArtifactError


def _folder(path: Path) -> Path:
    (path / "below" / "deep").mkdir(parents=True)
    (path / "empty").mkdir()
    (path / "one").write_text("first")
    (path / "below" / "deep" / "two").write_text("second")
    (path / "writer.lock").write_text("")
    return path


def _open_files(below: Path) -> int:
    """Descriptors of files below a folder: other parts of this process open and close theirs at any time."""
    found = 0
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 - names alone
        with contextlib.suppress(FileNotFoundError):
            found += Path(f"/proc/self/fd/{name}").readlink().is_relative_to(below)
    return found


def test_files_are_readable_after_they_are_removed_or_replaced(tmp_path: Path) -> None:
    """Folders are there as well, lock files are not."""
    source = _folder(tmp_path / "source")
    held = HeldFolder(source, tmp_path / "scratch")
    source.rename(tmp_path / "moved")
    (tmp_path / "moved" / "one").unlink()
    _folder(source)
    (source / "one").write_text("another")
    assert held.path == held.root / "source"
    assert (held.path / "one").read_text() == "first"
    assert (held.path / "below" / "deep" / "two").read_text() == "second"
    assert sorted(path.name for path in held.path.iterdir()) == ["below", "empty", "one"]


def test_closing_or_collecting_releases_everything(tmp_path: Path) -> None:
    """Links and descriptors are released once."""
    source, scratch = _folder(tmp_path / "source"), tmp_path / "scratch"
    held = HeldFolder(source, scratch)
    assert _open_files(tmp_path) == 2
    held.close()
    held.close()
    assert _open_files(tmp_path) == 0
    forgotten = HeldFolder(source, scratch)
    assert _open_files(tmp_path) == 2
    del forgotten
    gc.collect()
    assert _open_files(tmp_path) == 0
    assert list(scratch.iterdir()) == []


def test_a_folder_that_cannot_be_held_leaves_nothing(tmp_path: Path) -> None:
    """A pipe in the folder, and a missing folder."""
    source, scratch = _folder(tmp_path / "source"), tmp_path / "scratch"
    os.mkfifo(source / "pipe")
    with pytest.raises(CorruptArtifactError, match="other than plain files"):
        HeldFolder(source, scratch)
    with pytest.raises(FileNotFoundError):
        HeldFolder(tmp_path / "nowhere", scratch)
    assert _open_files(tmp_path) == 0
    assert not scratch.exists()


TOO_MANY = """
import os, resource, sys
from pathlib import Path
from helix_shared.artifacts.files.held_folder import HeldFolder
before = len(os.listdir("/proc/self/fd"))
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
try:
    HeldFolder(Path(sys.argv[1]), Path(sys.argv[2]))
except OSError as error:
    print(error.strerror, len(os.listdir("/proc/self/fd")) - before)
"""


def test_too_few_descriptors_leave_nothing(tmp_path: Path) -> None:
    """Opened files are closed and links are removed."""
    source, scratch = _folder(tmp_path / "source"), tmp_path / "scratch"
    for number in range(100):
        (source / f"more-{number}").touch()
    command = [sys.executable, "-c", TOO_MANY, str(source), str(scratch)]
    ended = subprocess.run(command, check=True, capture_output=True, text=True)
    assert ended.stdout.strip() == "Too many open files 0"
    assert list(scratch.iterdir()) == []
