"""A process with many threads keeps few arenas of malloc."""

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
NO_SUCH_LIBC = 3


def _arenas(kind: str) -> int:
    environment = {name: value for name, value in os.environ.items() if name != "MALLOC_ARENA_MAX"}
    ended = subprocess.run(
        [sys.executable, "-c", ARENAS, kind],
        capture_output=True,
        text=True,
        env=environment,
        timeout=60,
        check=False,
    )
    if ended.returncode == NO_SUCH_LIBC:
        pytest.skip("this libc has one arena, or no such setting")
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.count("<heap nr=")


@pytest.mark.skipif((os.cpu_count() or 1) > 8, reason="as many arenas as threads are few here")
def test_threads_share_an_arena_a_core() -> None:
    """Without the setting each of them has its own."""
    assert _arenas("few") <= (os.cpu_count() or 1) + 1 < _arenas("many")
