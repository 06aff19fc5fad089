"""The lock of a home: one `helix up`, or one command that works alone, holds it."""

from __future__ import annotations

import contextlib
import fcntl
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final

from helix_cli.home.folder import HomeFolder
from helix_cli.home.record import read_record
from helix_memory.transport.polling import poll
from helix_shared.errors import PermanentError

_LOCK_SECONDS: Final = 0.5
_LOCK_POLL_SECONDS: Final = 0.005


def is_starting(home: HomeFolder) -> bool:
    """Whether a `helix up` holds the lock of the home.

    Takes a shared lock to test it, so that two commands that test at once do not see each other.
    """
    try:
        with _lock_file(home).open() as handle:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


@contextlib.contextmanager
def locked(home: HomeFolder) -> Iterator[None]:
    """Hold the exclusive lock of the home; the system releases it when the process ends.

    Retries for half a second, because a command may hold the shared lock briefly (`is_starting`).

    Raises:
        PermanentError: another process holds it.
    """
    home.run.mkdir(parents=True, exist_ok=True)
    with _lock_file(home).open("w") as handle:
        if not any(_took_lock(handle) for _ in poll(_LOCK_SECONDS, every_seconds=_LOCK_POLL_SECONDS)):
            record = read_record(home)
            where = f" (NATS at {record.nats_url}, query at {record.query_address})" if record else ""
            raise PermanentError(
                f"helix is already running on {home.root}{where}; stop it, or choose another --home"
            )
        yield


def _took_lock(handle: IO[str]) -> bool:
    """Take the lock if no other process has it."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _lock_file(home: HomeFolder) -> Path:
    return home.run / "up.lock"
