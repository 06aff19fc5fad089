"""An erasure reaches a re-embedding that was ended midway, too.

`helix models use` replays the log, erasures included. Where it was ended before an erasure and is not
continued, its folder holds what was erased: then the folder goes.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Final

from helix_consolidation.delivery.lease import FolderLock
from helix_consolidation.stores.anew import WORKSPACE
from helix_shared.telemetry import logger

if TYPE_CHECKING:
    from pathlib import Path

MARK: Final = "erased"
"""A file in the folder: something was erased while it was there."""

_log = logger(__name__)


def mark_erasure(data: Path) -> None:
    """Note that something is erased, in the folder of a re-embedding if it holds more than its lock.

    Called before the erasure is published, because nothing repeats it afterwards.
    """
    folder = data / WORKSPACE
    if folder.is_dir() and any(path.suffix != ".lock" for path in folder.iterdir()):
        (folder / MARK).touch()


def discard_abandoned(data: Path) -> bool:
    """Remove the content of a marked folder in which nobody works; returns whether there was one."""
    folder = data / WORKSPACE
    if not (folder / MARK).exists():
        return False
    lock = FolderLock(folder)
    if not lock.acquire():
        return False
    try:
        clear_workspace(folder)
    finally:
        lock.release()
    _log.warning("re-embedding discarded", reason="something was erased, and nobody continues it")
    return True


def clear_workspace(folder: Path) -> None:
    """Remove all but the lock, which the caller holds."""
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.suffix != ".lock":
            path.unlink()
