"""Files that are replaced in one step: a reader sees the old content or the new one, never a part."""

from __future__ import annotations

import contextlib
import os
import re
from typing import TYPE_CHECKING, Final

from helix_shared.machine.processes import is_running

if TYPE_CHECKING:
    from pathlib import Path

READABLE: Final = 0o644
SECRET: Final = 0o600
"""Modes of files, less what the umask of the process takes."""
_DRAFT: Final = re.compile(r"^\..+\.([1-9][0-9]{0,8})\Z")
"""Name of a file that is not whole yet, with the id of the process that writes it."""


def write_whole(path: Path, content: bytes, *, mode: int = READABLE, synced: bool = False) -> None:
    """Write a file and the folders above it; a process that is killed leaves the file as it was.

    With `synced`, the content is on the disk before it has its name. Processes may write the same file at
    the same time: one of them wins.

    Raises:
        OSError: the file cannot be written; it is as it was.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.unlink(missing_ok=True)
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as handle:
            handle.write(content)
            if synced:
                handle.flush()
                os.fsync(handle.fileno())
        draft.replace(path)
    except OSError:
        draft.unlink(missing_ok=True)
        raise


def remove_drafts(folder: Path) -> int:
    """Remove what `write_whole` left in a folder when its process was killed; returns how many files.

    Drafts of processes that run stay, and so do files that cannot be removed.
    """
    removed = 0
    for path in folder.glob(".*"):
        found = _DRAFT.match(path.name)
        if found and path.is_file() and not path.is_symlink() and not is_running(int(found[1])):
            with contextlib.suppress(OSError):
                path.unlink()
                removed += 1
    return removed
