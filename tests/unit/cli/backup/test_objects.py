"""Pieces of a backup: what is kept survives a power cut."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from helix_cli.backup.objects import OBJECTS, Objects


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
