from __future__ import annotations

from typing import TYPE_CHECKING

from helix_consolidation.delivery.abandoned import discard_abandoned, mark_erasure
from helix_consolidation.delivery.leading.lease import FolderLock

if TYPE_CHECKING:
    from pathlib import Path


def test_after_an_erasure_a_rebuild_that_nobody_continues_goes(tmp_path: Path) -> None:
    """Not while somebody works there, and not without an erasure."""
    mark_erasure(tmp_path)
    assert not discard_abandoned(tmp_path)
    assert not list(tmp_path.iterdir())
    folder = tmp_path / "rebuilding"
    (folder / "generations/000000000001").mkdir(parents=True)
    (folder / "key.json").write_text("{}")
    assert not discard_abandoned(tmp_path)
    mark_erasure(tmp_path)
    at_work = FolderLock(folder)
    assert at_work.acquire()
    assert not discard_abandoned(tmp_path)
    assert (folder / "generations").is_dir()
    at_work.release()
    assert discard_abandoned(tmp_path)
    assert {path.name for path in folder.iterdir()} == {"live.lock"}
    # a later erasure finds nothing there
    mark_erasure(tmp_path)
    assert {path.name for path in folder.iterdir()} == {"live.lock"}
    assert not discard_abandoned(tmp_path)


def test_an_erasure_removes_what_was_set_aside(tmp_path: Path) -> None:
    """A generation that was set aside would keep the erased text."""
    (tmp_path / "replaced" / "000000000001/generations").mkdir(parents=True)
    mark_erasure(tmp_path)
    assert not (tmp_path / "replaced").exists()
