"""Pieces of a backup: what is kept survives a power cut."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from helix_cli.backup.objects import OBJECTS, Objects
from helix_shared.errors import CorruptArtifactError


def test_a_new_folder_of_pieces_is_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder above it is synced, which holds its name; else a power cut takes its pieces with it."""
    synced: set[str] = set()
    fsync = os.fsync

    def noting(descriptor: int) -> None:
        synced.add(str(Path(f"/proc/self/fd/{descriptor}").readlink()))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", noting)
    objects = Objects(tmp_path)
    folder = objects.path(objects.put(b"piece")).parent
    assert synced >= {str(folder), str(tmp_path / OBJECTS)}


def put(root: Path, *pieces: bytes) -> tuple[list[str], int]:
    """One backup of some pieces; returns their names, and the bytes that it wrote."""
    objects = Objects(root)
    names = [objects.put(piece) for piece in pieces]
    objects.end()
    return names, objects.new_bytes


def damage(path: Path) -> os.stat_result:
    """Change one byte; returns what the file was."""
    before, content = path.stat(), path.read_bytes()
    path.write_bytes(bytes([content[0] ^ 1]) + content[1:])
    assert path.stat().st_size == before.st_size
    return before


@pytest.mark.parametrize("has_notes", [True, False])
def test_a_damaged_piece_of_the_right_size_is_written_again(tmp_path: Path, *, has_notes: bool) -> None:
    """Whether or not the last backup noted what it wrote, as one of an older release did not."""
    (damaged, whole), _ = put(tmp_path, b"damaged", b"whole")
    if not has_notes:
        (tmp_path / OBJECTS / "checked.json").unlink()
    damage(Objects(tmp_path).path(damaged))
    _, new_bytes = put(tmp_path, b"damaged", b"whole")
    assert new_bytes == len(b"damaged")
    assert Objects(tmp_path).read(damaged) == b"damaged"
    assert Objects(tmp_path).read(whole) == b"whole"


def test_a_damaged_piece_of_an_earlier_backup_is_not_taken_over(tmp_path: Path) -> None:
    """Its events are read from the log again."""
    (damaged, whole), _ = put(tmp_path, b"damaged", b"whole")
    damage(Objects(tmp_path).path(damaged))
    objects = Objects(tmp_path)
    assert objects.keep_again(whole)
    assert not objects.keep_again(damaged)
    assert objects.all_bytes == len(b"whole")


def test_a_piece_that_nobody_wrote_to_is_not_read_again(tmp_path: Path) -> None:
    """A damage that leaves the time as it was is found by `check`, which reads everything."""
    (name,), _ = put(tmp_path, b"piece")
    path = Objects(tmp_path).path(name)
    before = damage(path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert put(tmp_path, b"piece") == ([name], 0)
    with pytest.raises(CorruptArtifactError, match="damaged"):
        Objects(tmp_path).check(name)
