"""The record of what runs on a home: addresses and processes of `helix up`, or of a command without it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

from helix_cli.home.folder import HomeFolder
from helix_shared.machine.processes import is_running
from helix_shared.machine.whole_file import write_whole

UP_RECORD: Final = "up.json"
METRICS_RECORD: Final = "metrics.json"
ALONE_RECORD: Final = "alone.json"
_START_TIME_FIELD: Final = 19
"""Position of the start time in /proc/<pid>/stat, counted after the closing bracket of the command name."""


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
    _replace(home.run / name, asdict(record) | {"home": identity(home)})
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
    """The record, or None when there is none, it is damaged, or it was copied with another home.

    Processes of a copied record use the home that it was copied from.
    """
    try:
        fields = json.loads((home.run / name).read_bytes())
        if not is_of(home, fields.get("home", identity(home))):
            return None
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


def identity(home: HomeFolder) -> dict[str, str]:
    """Where a home lies and which folder it is: one that was moved keeps the second, a copy has neither."""
    status = home.root.stat()
    return {"path": str(home.root.resolve()), "folder": f"{status.st_dev}:{status.st_ino}"}


def is_of(home: HomeFolder, stated: Mapping[str, str]) -> bool:
    """Whether a file that states this identity is of the home, and not copied with another one."""
    return bool(stated.items() & identity(home).items())


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


def remove_record(home: HomeFolder, *, name: str = UP_RECORD) -> None:
    """Remove the record after the processes have ended."""
    (home.run / name).unlink(missing_ok=True)
    if name == UP_RECORD:
        (home.run / METRICS_RECORD).unlink(missing_ok=True)


def start_time(pid: int) -> str:
    """Start time of a process in clock ticks; empty when it has ended, is a zombie, or cannot be read."""
    try:
        # the name of a program may have bytes that are no UTF-8
        status = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].decode("ascii")
    except OSError:
        return ""
    fields = status.split()
    return "" if fields[0] == "Z" else fields[_START_TIME_FIELD]
