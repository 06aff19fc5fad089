"""Removing older backups."""

from pathlib import Path

import pytest

from helix_cli.backup.backup import _locked, keep_newest
from helix_cli.backup.objects import Objects
from helix_shared.errors import PermanentError


def test_pieces_of_a_backup_that_another_process_writes_are_not_removed(tmp_path: Path) -> None:
    """No manifest names them yet; without them that backup would be damaged from the start."""
    with _locked(tmp_path):
        piece = Objects(tmp_path).put(b"of a backup that is being written")
        with pytest.raises(PermanentError, match="another process writes a backup"):
            keep_newest(tmp_path, 1)
    assert Objects(tmp_path).read(piece)
