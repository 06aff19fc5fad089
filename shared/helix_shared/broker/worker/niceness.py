"""The niceness of a worker process, so that a recall on the same machine goes before its work."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Final

LEAST_PRIORITY: Final = 19


def lower_process_priority(niceness: int) -> None:
    """Raise the niceness of every thread of the process.

    On Linux each thread has its own niceness and inherits it to threads it starts; engines start some on
    import.
    """
    threads = Path("/proc/self/task")
    if not niceness:
        return
    if not threads.is_dir():
        os.nice(niceness)
        return
    raised = min(os.getpriority(os.PRIO_PROCESS, 0) + niceness, LEAST_PRIORITY)
    for thread in threads.iterdir():
        with contextlib.suppress(ProcessLookupError):
            os.setpriority(os.PRIO_PROCESS, int(thread.name), raised)
