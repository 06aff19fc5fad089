"""Section `codes`: late interaction with the codes of 50 of `n` memories, with pages in memory and without.

Codes are random, because only their places in the file count. Reading and comparison are the query service's
own functions. Before each comparison without pages the kernel is told to give up those of the file.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from helix_lab.bench.reading.memory import Faults
from helix_lab.bench.reading.recall_load import percentiles
from helix_query.recall.evidence.late_interaction import nearest_tokens, similarities, word_similarities
from helix_shared.artifacts.files.mapped import read_single_pages, release_pages, warm
from helix_shared.artifacts.signals.token_codes import CodeFile, gathered_codes, open_codes
from helix_shared.edges import TOKEN_CODE_BYTES
from helix_shared.encoders.token_codes import CODE_BITS

if TYPE_CHECKING:
    from numpy.typing import NDArray

COMPARED: Final = 50
TOKENS: Final = 40
"""Coded tokens of a memory on average."""
WORDS: Final = 8
"""Words of a query that count, each of one token."""
_MILLISECONDS: Final = 1e3
_FILE: Final = "token_codes.npy"
_CHUNK: Final = 1 << 20


def codes_section(home: Path, n: int, *, seed: int, queries: int) -> dict[str, Any]:
    """`token_codes`: milliseconds on the clock and of the processor, and pages read, warm and cold.

    Works in a folder below the lab's `home`, which it removes.
    """
    home.mkdir(parents=True, exist_ok=True)
    drawn = np.random.default_rng(seed)
    counts = drawn.integers(TOKENS // 2, TOKENS + TOKENS // 2 + 1, n).astype(np.int32)
    with tempfile.TemporaryDirectory(prefix=".codes-", dir=home) as folder:
        file = Path(folder) / _FILE
        _write(file, int(counts.sum()), drawn)
        codes = open_codes(file.parent, counts)
        asked = [np.sort(drawn.choice(n, min(COMPARED, n), replace=False)) for _ in range(queries)]
        states = drawn.standard_normal((WORDS, CODE_BITS)).astype(np.float32)
        warm(codes.codes)
        read_single_pages(codes.codes)
        found = {"warm": _measured(codes, asked, states, None), "cold": _measured(codes, asked, states, file)}
        ratio = {
            mark: round(found["cold"]["ms"][mark] / found["warm"]["ms"][mark], 2) for mark in ("p50", "p95")
        }
        return {
            "token_codes": found | {"cold_over_warm": ratio, "megabytes": round(file.stat().st_size / 1e6)}
        }


def codes_lines(report: Mapping[str, Any]) -> list[str]:
    """The section as sentences."""
    if (found := report.get("token_codes")) is None:
        return []
    told = []
    for name in ("warm", "cold"):
        clock, processor = found[name]["ms"], found[name]["processor_ms"]
        told.append(
            f"late interaction with {COMPARED} memories, pages {name}: {clock['p50']} ms at p50, "
            f"{clock['p95']} at p95, {processor['p50']} and {processor['p95']} of the processor, "
            f"{found[name]['disk_pages']} pages from the disk"
        )
    over = found["cold_over_warm"]
    return [
        *told,
        f"{found['megabytes']:,} MB of codes; cold over warm: {over['p50']} at p50, {over['p95']} at p95",
    ]


def _write(file: Path, tokens: int, drawn: np.random.Generator) -> None:
    header = {"descr": "|u1", "fortran_order": False, "shape": (tokens, TOKEN_CODE_BYTES)}
    with file.open("wb") as target:
        np.lib.format.write_array_header_2_0(target, header)
        for start in range(0, tokens, _CHUNK):
            target.write(drawn.bytes(min(_CHUNK, tokens - start) * TOKEN_CODE_BYTES))
        # the kernel keeps pages that are not on the disk yet
        os.fsync(target.fileno())


def _measured(
    codes: CodeFile, asked: list[NDArray[np.int64]], states: NDArray[np.float32], evicted: Path | None
) -> dict[str, Any]:
    words, starts = np.arange(len(states)), np.zeros(1, np.int64)
    clock, processor, before = [], [], Faults.of(os.getpid())
    for rows in asked:
        if evicted is not None:
            _evict(codes, evicted)
        started, used = time.perf_counter(), time.thread_time()
        some, ends = gathered_codes([codes], starts, rows)
        best, _ = nearest_tokens(similarities(states, some), ends)
        word_similarities(best, words, len(states))
        clock.append((time.perf_counter() - started) * _MILLISECONDS)
        processor.append((time.thread_time() - used) * _MILLISECONDS)
    faults = Faults.of(os.getpid()).since(before, recalls=len(asked))
    return {"ms": percentiles(clock), "processor_ms": percentiles(processor), "disk_pages": faults["major"]}


def _evict(codes: CodeFile, file: Path) -> None:
    """Give up the pages of the mapping, then those of the kernel."""
    release_pages(codes.codes)
    opened = os.open(file, os.O_RDONLY)
    try:
        os.posix_fadvise(opened, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(opened)
