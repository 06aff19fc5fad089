"""Files that are replaced in one step."""

import os
from pathlib import Path

import pytest

from helix_shared.whole_file import SECRET, write_whole


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
