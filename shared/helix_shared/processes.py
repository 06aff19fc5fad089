"""Processes of this machine, by their ids."""

from __future__ import annotations

import os
import resource


def is_running(process: int) -> bool:
    """Whether there is a process with this id, whoever's it is."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def allow_open_files() -> int:
    """Let this process open as many files as its hard limit says; returns how many.

    A shell's soft limit is often 1,024. A generation of 10^6 memories has up to 600 files, and during a
    swap two or three generations are open.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard
