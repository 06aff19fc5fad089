"""Holding: a command asks the `helix up` of its home to stop the processes that embed and write, for a while.

`helix rebuild` and `helix models use` do so to put other stores in the place of those of the data folder. A
request is a file that names the home and the process of the command. Several commands may hold at once, as
for several shards: the processes start again where the last of them has ended, however it ended. The query
service answers all the time.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from helix_cli.home.folder import HomeFolder
from helix_cli.home.record import identity, is_of, read_record, running_record, start_time
from helix_cli.stack.children import Child
from helix_cli.stack.services import CONSOLIDATION, EXTRACT, INGEST
from helix_cli.stack.supervisor import Say, Supervisor
from helix_memory.transport.polling import poll
from helix_shared.errors import HelixError, TemporaryError
from helix_shared.machine.processes import machine
from helix_shared.machine.whole_file import write_whole

HELD_SERVICES: Final = (INGEST, EXTRACT, CONSOLIDATION)
"""They make vectors, or write stores."""
HELD_SECONDS: Final = 60.0
"""Longest wait until they have ended: they drain."""
_REQUESTS: Final = "hold-*.json"


@contextlib.contextmanager
def held(home: HomeFolder) -> Iterator[None]:
    """Inside, no process of the home embeds or writes. They start again when this ends.

    Raises:
        TemporaryError: no `helix up` runs on the home, or it does not stop them.
    """
    for left in _requests(home):
        if not _is_of_running(home, left):
            left.unlink(missing_ok=True)
    path = request_path(home)
    write_whole(path, json.dumps(request_of(home)).encode())
    try:
        for _ in poll(HELD_SECONDS):
            record = running_record(home)
            if record is None:
                raise TemporaryError(f"no `helix up` runs on {home.root}")
            if record.is_held:
                break
        else:
            raise TemporaryError(f"`helix up` did not stop {', '.join(HELD_SERVICES)} in {HELD_SECONDS:g} s")
        yield
    finally:
        path.unlink(missing_ok=True)


def request_path(home: HomeFolder) -> Path:
    """Where the request of this process lies."""
    return home.run / _REQUESTS.replace("*", str(os.getpid()))


def request_of(home: HomeFolder) -> dict[str, Any]:
    """Content of the request: this process, its machine, and the home."""
    pid = os.getpid()
    return {"pid": pid, "start_time": start_time(pid), "machine": machine(), "home": identity(home)}


def is_held(home: HomeFolder) -> bool:
    """Whether `helix up` holds its processes now."""
    record = read_record(home)
    return record is not None and record.is_held


def is_wanted(home: HomeFolder) -> bool:
    """Whether a command that runs on this home wants the processes held; that of a copied home has none."""
    return any(_is_of_running(home, path) for path in _requests(home))


def _requests(home: HomeFolder) -> list[Path]:
    return list(home.run.glob(_REQUESTS))


def _is_of_running(home: HomeFolder, path: Path) -> bool:
    """Whether a request is about this home, and of a process that runs."""
    try:
        request = json.loads(path.read_bytes())
        is_here = request["machine"] == machine() and is_of(home, request["home"])
        runs = bool(request["start_time"]) and start_time(int(request["pid"])) == request["start_time"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False
    return is_here and runs


class Holding:
    """Stops and starts the processes of one stack as commands want it; used by its supervisor's thread."""

    def __init__(
        self,
        home: HomeFolder,
        supervisor: Supervisor,
        *,
        children: Callable[[], list[Child]],
        before_start: Callable[[], None],
        changed: Callable[[], None],
        say: Say,
    ) -> None:
        """`children` gives the processes to hold, `before_start` runs before they start again.

        `changed` writes the record.
        """
        self.is_on = False
        self._home = home
        self._supervisor = supervisor
        self._children = children
        self._before_start = before_start
        self._changed = changed
        self._say = say

    def look(self) -> None:
        """Do what is wanted now."""
        wanted = is_wanted(self._home)
        if wanted and not self.is_on:
            children = self._children()
            self._supervisor.hold(children)
            self._say(f"{', '.join(child.name for child in children)} stopped for a rebuild")
            self.is_on = True
            self._changed()
        elif self.is_on and not wanted:
            self._end()

    def _end(self) -> None:
        self.is_on = False
        # first, or a command that asks meanwhile would find them held; a full disk keeps nothing stopped
        with contextlib.suppress(OSError):
            self._changed()
        try:
            self._before_start()
        except (HelixError, OSError) as error:
            # what is wrong, a process that starts says again
            self._say(f"before the held processes start again: {error}")
        finally:
            self._supervisor.resume()
