"""Speed of the machine's memory: reads of pages at random and in sequence, and page faults of a process.

A recall compares stored vectors that are on as many pages. The cost of reading them differs between machines
of one kind and between minutes on one machine: with page size, TLB reach, other cache contents, and whether
the kernel evicted file pages. Reads Linux's `/proc`, as `processor_time` does.
"""

from __future__ import annotations

import mmap
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

LOOKED_AT: Final = 256 << 20
"""Bytes of each mapping that is read: far more than any cache or the TLB covers."""
_ROW_BYTES: Final = 512
"""Bytes read of a page: a little more than a stored vector of 384 dimensions."""
_ROWS_AT_ONCE: Final = 2_048
"""Number of vectors that a recall compares."""
_MINOR_FIELD, _MAJOR_FIELD = 7, 9
"""Index of the fields of page faults in `/proc/<pid>/stat`, counted after the command's closing bracket."""


@dataclass(frozen=True, slots=True)
class Faults:
    """Page faults so far: `minor` found the page in memory, `major` waited for the disk."""

    minor: int
    major: int
    put_out: int
    """File pages that the machine read again after it had evicted them."""

    @classmethod
    def of(cls, pid: int) -> Faults:
        """Page faults of all threads of a process since it started.

        Raises:
            OSError: there is no such process.
        """
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        system = dict(line.split() for line in Path("/proc/vmstat").read_text().splitlines())
        return cls(
            int(fields[_MINOR_FIELD]),
            int(fields[_MAJOR_FIELD]),
            int(system.get("workingset_refault_file", 0)),
        )

    def since(self, before: Faults, *, recalls: int) -> dict[str, float]:
        """`minor` and `major` faults of each recall, and the pages evicted and read again meanwhile."""
        return {
            "minor": round((self.minor - before.minor) / recalls, 2),
            "major": round((self.major - before.major) / recalls, 2),
            "put_out": self.put_out - before.put_out,
        }


def page_reads(size: int = LOOKED_AT) -> dict[str, Any]:
    """Nanoseconds of a row of one page at random (4 KiB and huge pages) and of a new page; GB/s in sequence.

    Over `size` bytes of its own memory; rows are gathered as stored vectors are. Without huge pages from the
    kernel both figures of rows are the same.
    """
    small, fault = _mapping(size, mmap.MADV_NOHUGEPAGE)
    huge, _ = _mapping(size, mmap.MADV_HUGEPAGE)
    numbers = small.view(np.uint64)
    return {
        "random_4k_ns": _random_ns(small),
        "random_huge_ns": _random_ns(huge),
        "fault_ns": round(fault * 1e9 / (size // mmap.PAGESIZE), 1),
        "sequential_gb_per_s": round(size / 1e9 / min(_seconds(numbers.max) for _ in range(3)), 2),
        "huge_pages": _setting("enabled"),
    }


def _mapping(size: int, advice: int) -> tuple[NDArray[np.uint8], float]:
    """Memory of `size` bytes that was written to, and the seconds that took."""
    pages = mmap.mmap(-1, size)
    pages.madvise(advice)
    taken = np.frombuffer(pages, np.uint8)
    return taken, _seconds(lambda: taken[:: mmap.PAGESIZE].fill(1))


def _random_ns(pages: NDArray[np.uint8]) -> float:
    """Nanoseconds of one row, median of gathers of as many rows as a recall compares."""
    rows = pages.view(f"V{_ROW_BYTES}")
    every = np.random.default_rng(0).permutation(len(pages) // mmap.PAGESIZE)
    places = every * (mmap.PAGESIZE // _ROW_BYTES)
    gathers = [np.sort(places[at : at + _ROWS_AT_ONCE]) for at in range(0, len(places), _ROWS_AT_ONCE)]
    taken = [_seconds(partial(np.take, rows, some)) / len(some) for some in gathers]
    return round(float(np.median(taken)) * 1e9, 1)


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _setting(name: str) -> str:
    """The active value of a huge-page setting, which is in brackets."""
    file = Path("/sys/kernel/mm/transparent_hugepage") / name
    return file.read_text().partition("[")[2].partition("]")[0] if file.exists() else "none"
