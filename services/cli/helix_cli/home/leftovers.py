"""What a `helix up`, `helix rebuild` or `helix restore` that was killed has left: processes and files."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
from collections.abc import Callable
from typing import Final

from helix_cli.home.folder import HomeFolder
from helix_cli.home.lock import locked
from helix_cli.home.record import ALONE_RECORD, UP_RECORD, RunRecord, read_record, remove_record, start_time
from helix_memory.transport.polling import poll
from helix_shared.errors import PermanentError
from helix_shared.machine.processes import is_running
from helix_shared.machine.whole_file import remove_drafts

DRAIN_SECONDS: Final = 15.0
"""Longest wait for a process that was told to end."""
_WRITTEN_WHOLE: Final = (
    "run", "data/nats", "models", "cache", "imports", "security", "security/nats", "security/tokens"
)  # fmt: skip
"""Folders of a home with files of `write_whole`; that of the keys is cleaned by `KeyStore`."""


def leftovers(record: RunRecord) -> dict[str, int]:
    """Processes of an earlier run that still run because `helix up` itself was killed.

    Raises:
        PermanentError: a process of that id runs, and its start time was not recorded.
    """
    found = {}
    for name, pid in record.pids.items():
        if record.start_times.get(name):
            if start_time(pid) == record.start_times[name]:
                found[name] = pid
        elif is_running(pid):
            raise PermanentError(
                f"process {pid} may be {name} of an earlier `helix up`; end it, or remove run/up.json"
            )
    return found


def end_leftovers(home: HomeFolder, *, say: Callable[[str], None]) -> None:
    """End the processes of a command that was killed; the caller holds the lock.

    Files of the home that such a process had not written whole are removed, and what a restore prepared.

    Raises: as `leftovers`.
    """
    for record_name in (UP_RECORD, ALONE_RECORD):
        record = read_record(home, name=record_name)
        for name, pid in (leftovers(record) if record else {}).items():
            say(f"{name} (process {pid}) is left over from a run that was killed; ending it")
            end_process(pid, wait_seconds=DRAIN_SECONDS)
    remove_record(home, name=ALONE_RECORD)
    for folder in _WRITTEN_WHOLE:
        remove_drafts(home.root / folder)
    shutil.rmtree(home.restoring, ignore_errors=True)


def end_killed_restore(home: HomeFolder, *, say: Callable[[str], None]) -> None:
    """Remove the texts in the clear of a restore that was killed; does nothing while one runs.

    Raises: as `leftovers`.
    """
    if home.restoring.exists():
        with contextlib.suppress(PermanentError), locked(home):
            say(f"{home.restoring} is left over from a restore that was killed; removing it")
            end_leftovers(home, say=say)


def end_process(pid: int, *, wait_seconds: float) -> None:
    """End a process that is not a child of this one: SIGTERM, wait, SIGKILL."""
    started = start_time(pid)
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
    if all(start_time(pid) == started for _ in poll(wait_seconds)):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
