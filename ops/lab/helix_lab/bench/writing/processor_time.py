"""Processor time by process: which service spends how much on an event.

Wall-clock figures of a shared machine differ from minute to minute; the processor time of an event differs
far less. Reads Linux's `/proc`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from helix_cli.stack.stack import Stack

_USER_FIELD: Final = 11
"""Of user time in `/proc/<pid>/stat`, counted after the command's closing bracket; system time follows."""


def stack_seconds(stack: Stack) -> dict[str, float]:
    """Processor seconds so far of each process of a stack, by service; copies of a service are summed."""
    spent: dict[str, float] = {}
    for child in stack.processes:
        service = child.name.partition("-")[0]
        spent[service] = spent.get(service, 0.0) + process_seconds(child.pid)
    return spent


def process_seconds(pid: int) -> float:
    """User and system time of all threads of a process since it started, in seconds.

    Raises:
        OSError: there is no such process.
    """
    # the command is in brackets and may hold spaces and brackets itself
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    user, system = fields[_USER_FIELD : _USER_FIELD + 2]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def milliseconds_per_event(
    before: Mapping[str, float], after: Mapping[str, float], *, events: int
) -> dict[str, float]:
    """Milliseconds an event by service, and their `total`, between two `stack_seconds`."""
    spent = {name: (after[name] - before.get(name, 0.0)) * 1_000 / events for name in after}
    return {name: round(value, 2) for name, value in (spent | {"total": sum(spent.values())}).items()}
