"""The temporary folder of this process for links to held files (`HeldFolder`).

A swap makes hundreds of links. Folders of processes that were killed are removed at the next start.
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

from helix_shared.machine.processes import is_running

PREFIX: Final = "helix-query-"


@contextmanager
def link_folder() -> Iterator[Path]:
    """The folder; it is removed when the block ends."""
    _remove_left_over(Path(tempfile.gettempdir()))
    with tempfile.TemporaryDirectory(prefix=f"{PREFIX}{os.getpid()}-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def _remove_left_over(home: Path) -> None:
    for folder in home.glob(f"{PREFIX}*"):
        owner = folder.name.removeprefix(PREFIX).partition("-")[0]
        with contextlib.suppress(OSError):
            if owner.isdigit() and folder.stat().st_uid == os.getuid() and not is_running(int(owner)):
                shutil.rmtree(folder)
