"""Discards interrupted rebuilds, and generations that rebuilds replaced, after an erasure.

`helix rebuild` and `helix models use` replay the log, erasures included. If one was ended before an
erasure and is not continued, its folder still holds what was erased, and is removed. A generation that a
rebuild replaced holds it as well.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Final

from helix_consolidation.delivery.leading.lease import FolderLock
from helix_consolidation.stores.anew import REPLACED, WORKSPACE
from helix_shared.telemetry.logs import logger

if TYPE_CHECKING:
    from pathlib import Path

ERASURE_MARKER: Final = "erased"
"""A file in the folder: something was erased while it was there."""

_log = logger(__name__)


def mark_erasure(data: Path) -> None:
    """Mark the folder of an interrupted rebuild, so that its data is discarded: something was erased.

    Replaced generations are removed at once. This is called before the erasure is published, because nothing
    repeats it afterwards.
    """
    shutil.rmtree(data / REPLACED, ignore_errors=True)
    folder = data / WORKSPACE
    if folder.is_dir() and any(path.suffix != ".lock" for path in folder.iterdir()):
        (folder / ERASURE_MARKER).touch()


def discard_abandoned(data: Path) -> bool:
    """Remove the content of a marked folder that no process uses; returns whether there was one."""
    folder = data / WORKSPACE
    if not (folder / ERASURE_MARKER).exists():
        return False
    lock = FolderLock(folder)
    if not lock.acquire():
        return False
    try:
        clear_workspace(folder)
    finally:
        lock.release()
    _log.warning("rebuild discarded", reason="something was erased, and nobody continues it")
    return True


def clear_workspace(folder: Path) -> None:
    """Remove all but the lock, which the caller holds."""
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.suffix != ".lock":
            path.unlink()
