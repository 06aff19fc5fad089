"""Memory, file handles and disk of a stack over time."""

from __future__ import annotations

import os
import statistics
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from helix_cli.stack.stack import Stack

MIB: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Sample:
    """What a process uses with its children, or a folder; of a folder `handles` is 0."""

    events: int
    """Published so far."""
    bytes: int
    handles: int = 0


def _tree(pid: int) -> Iterator[int]:
    yield pid
    with suppress(OSError):
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            yield from _tree(int(child))


def _private_bytes(pid: int) -> int:
    """Memory of its own; mapped files are the page cache's."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) * 1_024
    return 0


def _handles(pid: int) -> int:
    with suppress(OSError):
        return sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())
    return 0


def _disk_bytes(folder: Path) -> int:
    """Blocks of all files below a folder; a file with several links counts once."""
    blocks: dict[int, int] = {}
    for at, _, files in os.walk(folder):
        for name in files:
            with suppress(OSError):
                status = os.lstat(Path(at) / name)
                blocks[status.st_ino] = status.st_blocks * 512
    return sum(blocks.values())


def take(stack: Stack, events: int) -> dict[str, Sample]:
    """What each process and the home use now."""
    found = {"disk": Sample(events, _disk_bytes(stack.home.root))}
    for child in stack.processes:
        pids = [*_tree(child.pid)]
        found[child.name] = Sample(events, sum(map(_private_bytes, pids)), sum(map(_handles, pids)))
    return found


@dataclass(frozen=True, slots=True)
class Growth:
    """From the middle third of the samples to the last: the first third is the warm-up."""

    events: int
    bytes: int
    handles: int

    @property
    def bytes_an_event(self) -> int:
        """Bytes for each event between the two."""
        return round(self.bytes / max(1, self.events))


def growth_of(samples: list[Sample]) -> Growth:
    """The difference between the medians of the two thirds."""
    third = len(samples) // 3
    middle, last = samples[third : 2 * third], samples[2 * third :]

    def between(name: str) -> int:
        first, second = (statistics.median(getattr(one, name) for one in part) for part in (middle, last))
        return round(second - first)

    return Growth(between("events"), between("bytes"), between("handles"))
