"""Where a run of the tests keeps its files: in memory, if there is room.

The tests make, sync and remove some hundred thousand files, and wait for a disk: one file of tests took 43
to 49 s with its folders on a disk and 28 to 33 s with its folders in memory, in turn.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Final

SHARED_MEMORY: Final = Path("/dev/shm")  # noqa: S108  a folder of its own is made in it
ROOM_BYTES: Final = 6 * 1024**3
"""What must be free: a whole run holds 0.1 GB at a time, and its processes need 3 GB."""
PREFIX: Final = "helix-tests-"
_MEMORY: Final = Path("/proc/meminfo")
_GROUP: Final = Path("/sys/fs/cgroup")


def folder_in_memory(pid: int) -> Path | None:
    """A folder for the run of the process `pid`, not made yet; None where memory has no room.

    Folders of runs that were killed are removed.
    """
    try:
        for left in SHARED_MEMORY.glob(f"{PREFIX}*"):
            if not Path("/proc", left.name.removeprefix(PREFIX)).exists():
                shutil.rmtree(left, ignore_errors=True)
        has_room = min(shutil.disk_usage(SHARED_MEMORY).free, available_memory()) >= ROOM_BYTES
        can_run = not os.statvfs(SHARED_MEMORY).f_flag & os.ST_NOEXEC
    except (OSError, ValueError):
        return None
    is_own = os.access(SHARED_MEMORY, os.W_OK)
    return SHARED_MEMORY / f"{PREFIX}{pid}" if has_room and can_run and is_own else None


def available_memory() -> int:
    """Bytes that this process may still use: of the machine, and of its control group.

    Raises:
        OSError: the machine does not tell.
        ValueError: likewise.
    """
    lines = dict(line.split(":", 1) for line in _MEMORY.read_text().splitlines())
    available = int(lines["MemAvailable"].split()[0]) * 1024
    limit = _GROUP / "memory.max"
    if limit.exists() and (most := limit.read_text().strip()) != "max":
        available = min(available, int(most) - int((_GROUP / "memory.current").read_text()))
    return available
