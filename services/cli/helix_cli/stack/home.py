"""The home folder (`HELIX_HOME`, default `~/.helix`): its paths, its lock, and the record of what runs.

```
data/        NATS (data/nats) and the generations; those of later shards than the first in data/shards/1, ...
models/      encoders
logs/        one file per process
run/up.lock  held by the running `helix up`
run/up.json  addresses and process ids of the running `helix up`
run/metrics.json  those of its metrics, for Prometheus (`file_sd_configs`)
run/rebuild.json  those of a `helix rebuild` that runs without one
```
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Final

from helix_memory.transport.polling import poll
from helix_shared.errors import PermanentError
from helix_shared.processes import is_running
from helix_shared.whole_file import remove_drafts, write_whole

UP_RECORD: Final = "up.json"
METRICS_RECORD: Final = "metrics.json"
REBUILD_RECORD: Final = "rebuild.json"
DRAIN_SECONDS: Final = 15.0
"""Longest wait for a process that was told to end."""
_WRITTEN_WHOLE: Final = (
    "run", "data/nats", "models", "cache", "security", "security/nats", "security/tokens"
)  # fmt: skip
"""Folders of a home with files of `write_whole`; that of the keys is cleaned by `KeyStore`."""
_LOCK_SECONDS: Final = 0.5
_LOCK_POLL_SECONDS: Final = 0.005
_START_TIME_FIELD: Final = 19
"""Position of the start time in /proc/<pid>/stat, counted after the closing bracket of the command name."""


@dataclass(frozen=True, slots=True)
class HomeFolder:
    """Paths below one home."""

    root: Path

    @classmethod
    def at(cls, path: Path) -> HomeFolder:
        """The home at `path`; expands `~`."""
        return cls(path.expanduser().absolute())

    @property
    def data(self) -> Path:
        """Generations and, below `nats`, the streams."""
        return self.root / "data"

    def data_of(self, shard: int) -> Path:
        """The data folder of a shard."""
        return self.data / "shards" / str(shard) if shard else self.data

    @property
    def shards(self) -> int:
        """Number of shards; a folder that was never written by a writer counts as well."""
        shard = 1
        while self.data_of(shard).is_dir():
            shard += 1
        return shard

    def require_one_shard(self, what: str) -> None:
        """Refuse what works on one data folder only.

        Raises:
            PermanentError: the home has several shards.
        """
        if self.shards > 1:
            raise PermanentError(f"{what} is not possible yet in a home with {self.shards} shards")

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
        """Folder of the lock and the record."""
        return self.root / "run"


@dataclass(frozen=True, slots=True)
class RunRecord:
    """Content of `run/up.json`."""

    nats_url: str
    query_address: str
    instance: str = ""
    """Name that the NATS server and the query service of this run report."""
    pids: Mapping[str, int] = field(default_factory=dict)
    """Process name to process id."""
    start_times: Mapping[str, str] = field(default_factory=dict)
    """Process name to start time (`start_time`), because the system reuses process ids."""
    deep_address: str = ""
    """Where the deep service listens; empty: there is none."""
    is_held: bool = False
    """Whether the processes that embed and write are stopped for a command (`hold`)."""
    is_secured: bool = False
    """Whether this run uses the security folder of the home."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Variables with which memories are made (`settings_in_use`)."""
    metrics: Mapping[str, str] = field(default_factory=dict)
    """Process name to the address of its metrics and health."""
    gateway_url: str = ""
    """Where the gateway listens; empty: there is none."""


def write_record(home: HomeFolder, record: RunRecord, *, name: str = UP_RECORD) -> None:
    """Replace the record atomically."""
    home.run.mkdir(parents=True, exist_ok=True)
    _replace(home.run / name, asdict(record))
    if name == UP_RECORD:
        # a target keeps its name when its process is started again, on another port
        _replace(
            home.run / METRICS_RECORD,
            [{"targets": [at], "labels": {"instance": process}} for process, at in record.metrics.items()],
        )


def _replace(path: Path, content: object) -> None:
    """Write a file of JSON in one step."""
    write_whole(path, (json.dumps(content, indent=2) + "\n").encode())


def read_record(home: HomeFolder, *, name: str = UP_RECORD) -> RunRecord | None:
    """The record, or None when there is none or it is damaged."""
    try:
        fields = json.loads((home.run / name).read_bytes())
        return RunRecord(
            str(fields["nats_url"]),
            str(fields["query_address"]),
            str(fields.get("instance", "")),
            {str(name): int(pid) for name, pid in fields["pids"].items()},
            {str(name): str(time) for name, time in fields.get("start_times", {}).items()},
            str(fields.get("deep_address", "")),
            fields.get("is_held") is True,
            fields.get("is_secured") is True,
            {str(name): str(value) for name, value in fields.get("settings", {}).items()},
            {str(name): str(address) for name, address in fields.get("metrics", {}).items()},
            str(fields.get("gateway_url", "")),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def running_record(home: HomeFolder) -> RunRecord | None:
    """The record of the `helix up` that runs on this home; None when nothing runs there."""
    record = read_record(home)
    if record is None:
        return None
    runs = any(_is_same(pid, record.start_times.get(name, "")) for name, pid in record.pids.items())
    return record if runs else None


def _is_same(pid: int, started: str) -> bool:
    """Whether the recorded process still runs; compares ids only where no start time was recorded."""
    return start_time(pid) == started if started else is_running(pid)


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


def remove_record(home: HomeFolder, *, name: str = UP_RECORD) -> None:
    """Remove the record after the processes have ended."""
    (home.run / name).unlink(missing_ok=True)
    if name == UP_RECORD:
        (home.run / METRICS_RECORD).unlink(missing_ok=True)


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


def start_time(pid: int) -> str:
    """Start time of a process in clock ticks; empty when it has ended, is a zombie, or cannot be read."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] == "Z" else fields[_START_TIME_FIELD]


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
    """End the processes of a `helix up` or `helix rebuild` that was killed; the caller holds the lock.

    Files of the home that such a process had not written whole are removed.

    Raises: as `leftovers`.
    """
    for record_name in (UP_RECORD, REBUILD_RECORD):
        record = read_record(home, name=record_name)
        for name, pid in (leftovers(record) if record else {}).items():
            say(f"{name} (process {pid}) is left over from a run that was killed; ending it")
            end_process(pid, wait_seconds=DRAIN_SECONDS)
    for folder in _WRITTEN_WHOLE:
        remove_drafts(home.root / folder)


def end_process(pid: int, *, wait_seconds: float) -> None:
    """End a process that is not a child of this one: SIGTERM, wait, SIGKILL."""
    started = start_time(pid)
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
    if all(start_time(pid) == started for _ in poll(wait_seconds)):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
