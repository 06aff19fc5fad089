"""A file system without room: a file takes all that is free, and what becomes free again.

The file is allocated, not written, so it takes no room in the image below the file system.
"""

from __future__ import annotations

import contextlib
import errno
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final

BALLAST: Final = "ballast"
REFILL_SECONDS: Final = 0.05
_LEAST: Final = 4_096


def fill(file: int) -> int:
    """Allocate all free bytes for an open file; returns how many it took."""
    before = os.fstat(file).st_size
    step = 1 << 30
    while step >= _LEAST:
        try:
            os.posix_fallocate(file, os.fstat(file).st_size, step)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            step //= 2
    return os.fstat(file).st_size - before


@contextlib.contextmanager
def full(at: Path, *, room: int = 0) -> Iterator[None]:
    """Inside, the file system mounted at `at` is full once `room` bytes more are written.

    What others remove is taken as well, so that it stays full.
    """
    path, over = at / BALLAST, threading.Event()
    file = os.open(path, os.O_WRONLY | os.O_CREAT)

    def refill() -> None:
        while not over.wait(REFILL_SECONDS):
            fill(file)

    thread = threading.Thread(target=refill, daemon=True)
    try:
        taken = fill(file)
        if room:
            os.ftruncate(file, max(0, taken - room))
        else:
            thread.start()
        yield
    finally:
        over.set()
        if thread.ident is not None:
            thread.join()
        os.close(file)
        path.unlink()
