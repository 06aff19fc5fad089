"""Where the links to held files (`HeldFolder`) are made: a folder of this process, in memory if that is safe.

A swap makes hundreds of links, each .2 ms on a disk. The folders of processes that were killed are removed
by the next one. `app` opens it, `serving` uses it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from helix_shared.processes import is_running

PREFIX: Final = "helix-query-"
SHARED_MEMORY: Final = Path("/dev/shm")  # noqa: S108 - a folder in it has a name of its own and one reader
LAST_SYSTEM_USER: Final = 999
"""What others keep in shared memory may be removed when they log out (logind.conf(5), RemoveIPC)."""
TRIAL_TARGET: Final = "x" * 1_024


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """The folder, which goes with the block."""
    home = SHARED_MEMORY if _is_usable(SHARED_MEMORY) else Path(tempfile.gettempdir())
    _remove_left_over(home)
    with tempfile.TemporaryDirectory(
        prefix=f"{PREFIX}{os.getpid()}-", dir=home, ignore_cleanup_errors=True
    ) as folder:
        yield Path(folder)


def _is_usable(folder: Path) -> bool:
    """Whether links can be made there, and stay."""
    if not folder.is_dir() or os.getuid() > LAST_SYSTEM_USER:
        return False
    try:
        with tempfile.TemporaryDirectory(prefix=PREFIX, dir=folder) as trial:
            (Path(trial) / "link").symlink_to(TRIAL_TARGET)
    except OSError:
        return False
    return True


def _remove_left_over(home: Path) -> None:
    for folder in home.glob(f"{PREFIX}*"):
        owner = folder.name.removeprefix(PREFIX).partition("-")[0]
        with contextlib.suppress(OSError):
            if owner.isdigit() and folder.stat().st_uid == os.getuid() and not is_running(int(owner)):
                shutil.rmtree(folder)
