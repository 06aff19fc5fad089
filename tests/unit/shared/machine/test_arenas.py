"""A process with many threads keeps few arenas of malloc, and what is free in them goes back."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

ARENAS = """
import ctypes, os, sys, threading
from helix_shared.machine.processes import use_few_arenas
if sys.argv[1] == "few" and not use_few_arenas():
    sys.exit(3)
libc = ctypes.CDLL(None)
together, over = threading.Barrier(17), threading.Event()
def work():
    libc.malloc(10_000)
    together.wait()
    over.wait()
for _ in range(16):
    threading.Thread(target=work).start()
together.wait()
libc.fdopen.restype = ctypes.c_void_p
stream = ctypes.c_void_p(libc.fdopen(1, b"w"))
libc.malloc_info(0, stream)
libc.fflush(stream)
over.set()
"""
RETURNED = """
import ctypes, sys
from pathlib import Path
from helix_shared.machine.processes import return_free_memory
def anonymous():
    status = Path("/proc/self/status").read_text()
    return int(status.partition("RssAnon:")[2].split()[0])
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
blocks = [libc.malloc(50_000) for _ in range(1_000)]
for block in blocks:
    ctypes.memset(block, 1, 50_000)
for block in blocks[:-1]:  # the last one keeps the end of the heap
    libc.free(ctypes.c_void_p(block))
before = anonymous()
if not return_free_memory():
    sys.exit(3)
print(before - anonymous())
"""
"""Prints how many KiB went back of 49,000 that were freed below a block that is kept."""
MAPPED = """
import ctypes, sys
from pathlib import Path
from helix_shared.machine.processes import map_large_blocks
def anonymous():
    status = Path("/proc/self/status").read_text()
    return int(status.partition("RssAnon:")[2].split()[0])
if sys.argv[1] == "map" and not map_large_blocks():
    sys.exit(3)
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.free(ctypes.c_void_p(libc.malloc(20 << 20)))  # malloc keeps blocks of this size from now on
before = anonymous()
blocks = [libc.malloc(4 << 20) for _ in range(10)]
for block in blocks:
    ctypes.memset(block, 1, 4 << 20)
for block in blocks[:-1]:
    libc.free(ctypes.c_void_p(block))
print(anonymous() - before)
"""
"""Prints how many KiB of ten blocks stay after nine were freed."""
NO_SUCH_LIBC = 3


def _said(program: str, *arguments: str) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "MALLOC_ARENA_MAX"}
    ended = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        capture_output=True,
        text=True,
        env=environment,
        timeout=60,
        check=False,
    )
    if ended.returncode == NO_SUCH_LIBC:
        pytest.skip("this libc has one arena, or no such setting")
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def _arenas(kind: str) -> int:
    return _said(ARENAS, kind).count("<heap nr=")


@pytest.mark.skipif((os.cpu_count() or 1) > 8, reason="as many arenas as threads are few here")
def test_threads_share_an_arena_a_core() -> None:
    """Without the setting each of them has its own."""
    assert _arenas("few") <= (os.cpu_count() or 1) + 1 < _arenas("many")


def test_large_blocks_go_back_when_they_are_freed() -> None:
    """Without the setting malloc keeps them below the one in use."""
    assert int(_said(MAPPED, "map")) < 8_000
    assert int(_said(MAPPED, "keep")) > 30_000


def test_what_is_free_goes_back_to_the_system() -> None:
    """Also what lies below memory in use, which malloc never gives back by itself."""
    assert int(_said(RETURNED)) > 40_000
