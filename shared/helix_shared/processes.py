"""Processes of this machine, by their ids."""

from __future__ import annotations

import os


def is_running(process: int) -> bool:
    """Whether there is a process with this id, whoever's it is."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
