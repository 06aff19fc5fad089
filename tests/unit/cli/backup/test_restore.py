"""Where a restored backup gets its place."""

from pathlib import Path

import pytest

from helix_cli.backup.restore import _place_of
from helix_cli.home.folder import HomeFolder
from helix_shared.errors import PermanentError


def test_data_behind_a_link_is_restored_where_the_link_leads(tmp_path: Path) -> None:
    """A link cannot be removed as a folder: the restoration would fail after all its work."""
    home = HomeFolder.at(tmp_path / "home")
    home.root.mkdir()
    assert _place_of(home) == home.data
    (tmp_path / "disk").mkdir()
    home.data.symlink_to(tmp_path / "disk" / "data")
    assert _place_of(home) == (tmp_path / "disk" / "data").resolve()


def test_a_place_that_is_taken_or_a_mount_is_refused_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No rename replaces either."""
    home = HomeFolder.at(tmp_path)
    home.data.mkdir()
    monkeypatch.setattr(Path, "is_mount", lambda path: path == home.data)
    with pytest.raises(PermanentError, match="is a mount"):
        _place_of(home)
    (home.data / "file").touch()
    with pytest.raises(PermanentError, match="is not empty"):
        _place_of(home)
    home.data.joinpath("file").unlink()
    home.data.rmdir()
    home.data.touch()
    with pytest.raises(PermanentError, match="is not empty"):
        _place_of(home)
