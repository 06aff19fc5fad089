"""Speed of the machine's memory, and how the bench reports it."""

import mmap
import os
from io import StringIO

import numpy as np
import pytest
from rich.console import Console

from helix_lab.bench.reading.memory import Faults, page_reads
from helix_lab.bench.table import print_report

PAGES = 500


def test_reads_of_pages_are_timed() -> None:
    """Each figure is a time or a rate of this machine; reading one page after the other is the fastest."""
    found = page_reads(16 << 20)
    assert found.pop("huge_pages") in {"always", "madvise", "never", "none"}
    assert set(found) == {"random_4k_ns", "random_huge_ns", "fault_ns", "sequential_gb_per_s"}
    assert all(0 < value < 1e6 for value in found.values())
    page_in_sequence_ns = mmap.PAGESIZE / found["sequential_gb_per_s"]
    assert page_in_sequence_ns < found["fault_ns"]


def test_page_faults_of_a_process_are_counted() -> None:
    """One for each page that is touched first, and none for touching it again."""
    pages = mmap.mmap(-1, PAGES * mmap.PAGESIZE)
    pages.madvise(mmap.MADV_NOHUGEPAGE)
    touched = np.frombuffer(pages, np.uint8)[:: mmap.PAGESIZE]
    before = Faults.of(os.getpid())
    touched.fill(1)
    first = Faults.of(os.getpid())
    touched.fill(2)
    again = Faults.of(os.getpid()).since(first, recalls=1)
    assert first.since(before, recalls=PAGES)["minor"] == pytest.approx(1.0, abs=0.5)
    assert again["minor"] < PAGES / 2
    assert set(again) == {"minor", "major", "put_out"}


def test_a_process_that_is_gone_has_no_faults_to_tell() -> None:
    """Not zero: the service died."""
    with pytest.raises(OSError, match="No such file"):
        Faults.of(2**22 + 1)


def test_the_report_says_what_the_memory_does() -> None:
    """In one line each: figures of two machines can be laid side by side."""
    console = Console(file=StringIO(), width=240)
    reads = {"random_4k_ns": 95.3, "random_huge_ns": 51.6, "fault_ns": 630.0, "sequential_gb_per_s": 21.3}
    faults = {"minor": 12.5, "major": 0.25, "put_out": 4_096}
    report = {"n": 10, "page_reads": reads | {"huge_pages": "madvise"}, "page_faults": faults}
    print_report(report, console)
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert "at random 95.3 ns in pages of 4 KiB, 51.6 in huge ones (madvise)" in shown
    assert "page faults of a recall: 12.5 minor, 0.25 major" in shown
    assert "4,096" in shown
