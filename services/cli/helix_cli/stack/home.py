"""The home folder (`HELIX_HOME`, default `~/.helix`): what lies where, who runs, and where it listens.

```
data/        NATS (data/nats) and the generations
models/      encoders
logs/        one file per process
run/up.lock  held by the running `helix up`
run/up.json  addresses and process ids of the running `helix up`
```
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from helix_cli.clients.polling import looks
from helix_shared.errors import PermanentError
from helix_shared.processes import is_running

_LOCK_SECONDS: Final = 0.5
_LOCK_LOOK_SECONDS: Final = 0.005
_BIRTH_FIELD: Final = 19
"""Start time in /proc/<pid>/stat, counted behind the closing bracket of the command name."""


@dataclass(frozen=True, slots=True)
class HomeFolder:
    """Paths below one home."""

    root: Path

    @classmethod
    def at(cls, path: Path) -> HomeFolder:
        """The home at `path`; `~` is understood."""
        return cls(path.expanduser().absolute())

    @property
    def data(self) -> Path:
        """Generations and, below `nats`, the streams."""
        return self.root / "data"

    @property
    def nats(self) -> Path:
        """Folder of the NATS server."""
        return self.data / "nats"

    @property
    def models(self) -> Path:
        """Folder of the encoders."""
        return self.root / "models"

    @property
    def logs(self) -> Path:
        """Folder of the logs."""
        return self.root / "logs"

    @property
    def run(self) -> Path:
        """Folder of what holds while Helix runs."""
        return self.root / "run"


class RunRecord(BaseModel):
    """What `run/up.json` says."""

    model_config = ConfigDict(frozen=True)

    nats_url: str
    query_address: str
    instance: str = Field("", description="name that the NATS server and the query service of this run give")
    pids: dict[str, int] = Field(description="process name to process id")
    births: dict[str, str] = Field(
        default_factory=dict, description="process name to start time, so that a reused id is recognised"
    )


def write_record(home: HomeFolder, record: RunRecord) -> None:
    """Replace the record; a reader sees the old one or the new one."""
    home.run.mkdir(parents=True, exist_ok=True)
    draft = home.run / "up.json.new"
    draft.write_text(record.model_dump_json(indent=2) + "\n")
    draft.replace(home.run / "up.json")


def read_record(home: HomeFolder) -> RunRecord | None:
    """The record, or None when there is none or it is unreadable."""
    try:
        return RunRecord.model_validate_json((home.run / "up.json").read_bytes())
    except (OSError, ValidationError):
        return None


def running_record(home: HomeFolder) -> RunRecord | None:
    """The record of the `helix up` that runs on this home; None when nothing runs there."""
    record = read_record(home)
    if record is None:
        return None
    alive = any(_lives(pid, record.births.get(name, "")) for name, pid in record.pids.items())
    return record if alive else None


def _lives(pid: int, born: str) -> bool:
    """Whether the process that was recorded still runs; without a start time its id has to do."""
    return birth(pid) == born if born else is_running(pid)


def is_starting(home: HomeFolder) -> bool:
    """Whether a `helix up` holds the home.

    The lock is shared: commands that look at the same moment do not take each other for a `helix up`.
    """
    try:
        with _lock_file(home).open() as handle:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


def remove_record(home: HomeFolder) -> None:
    """Say that nothing runs any more."""
    (home.run / "up.json").unlink(missing_ok=True)


@contextlib.contextmanager
def locked(home: HomeFolder) -> Iterator[None]:
    """Hold the home; the lock ends with the process, however it ends.

    A lock that is taken is tried for half a second: it may be a command that only looks (`is_starting`).

    Raises:
        PermanentError: another process holds it.
    """
    home.run.mkdir(parents=True, exist_ok=True)
    with _lock_file(home).open("w") as handle:
        if not any(_taken(handle) for _ in looks(_LOCK_SECONDS, every_seconds=_LOCK_LOOK_SECONDS)):
            record = read_record(home)
            where = f" (NATS at {record.nats_url}, query at {record.query_address})" if record else ""
            raise PermanentError(
                f"helix is already running on {home.root}{where}; stop it, or choose another --home"
            )
        yield


def _taken(handle: IO[str]) -> bool:
    """Take the lock of a home if nobody has it."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _lock_file(home: HomeFolder) -> Path:
    return home.run / "up.lock"


def birth(pid: int) -> str:
    """Start time of a process, or an empty string when it is gone, a zombie, or cannot be known."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] == "Z" else fields[_BIRTH_FIELD]


def leftovers(record: RunRecord) -> dict[str, int]:
    """Processes of an earlier run that still live: `helix up` itself was killed.

    Raises:
        PermanentError: a process of that id lives but nobody can say whether it is ours.
    """
    found = {}
    for name, pid in record.pids.items():
        if record.births.get(name):
            if birth(pid) == record.births[name]:
                found[name] = pid
        elif is_running(pid):
            raise PermanentError(
                f"process {pid} may be {name} of an earlier `helix up`; end it, or remove run/up.json"
            )
    return found


def end_process(pid: int, *, wait_seconds: float) -> None:
    """End a process that is not our child: ask, wait, kill."""
    born = birth(pid)
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
    if all(birth(pid) == born for _ in looks(wait_seconds)):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
