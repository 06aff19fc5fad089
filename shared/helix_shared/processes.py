"""Processes of this machine, by their ids."""

from __future__ import annotations

import os
import resource


def is_running(process: int) -> bool:
    """Whether a process with this id exists, of any user."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def allow_open_files() -> int:
    """Raise the limit of open files to the hard limit and return it.

    The soft limit of a shell is often 1,024. A generation of 10^6 memories has up to 600 files, and two or
    three generations are open during a swap.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard
