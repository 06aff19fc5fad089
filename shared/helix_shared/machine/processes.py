"""Processes of this machine, by their ids."""

from __future__ import annotations

import atexit
import ctypes
import gc
import os
import resource
import sys
import threading
import uuid
from pathlib import Path
from typing import Final

_M_ARENA_MAX: Final = -8
"""Number of this parameter in glibc's malloc.h, as of the next."""
_M_MMAP_THRESHOLD: Final = -3
_LARGE_BLOCK: Final = 256 << 10
SINGLE_THREADED: Final = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def module_command(module: str, *arguments: str) -> list[str]:
    """The command that runs one of our modules in a process of its own.

    With `-m` alone Python looks for every module in the current folder first: where a command is run in a
    folder of somebody else, a `queue.py` there would run with the secrets in our environment. `-P` leaves
    that folder out; PYTHONPATH goes on working. A process that this one starts by `multiprocessing` has the
    same flag.
    """
    return [sys.executable, "-P", "-m", module, *arguments]


def use_one_blas_thread() -> None:
    """Let BLAS use one thread unless the environment says otherwise; call it before numpy is imported.

    Threads do not speed up small products, and their spinning takes processor time: with two threads the
    token codes of a turn took 22 ms of it instead of .4 (ops/decisions/0048).
    """
    for variable in SINGLE_THREADED:
        os.environ.setdefault(variable, "1")


def pause_garbage_collection() -> None:
    """Collect no garbage until `resume_garbage_collection`; call it before a process imports its modules.

    The collector walks all objects again and again while they are made, which took a tenth of the processor
    time of a start.
    """
    gc.disable()


def resume_garbage_collection() -> None:
    """Collect garbage from now on, without the objects that exist: a process keeps these until it ends.

    At the end of the process none is collected: this took up to a third of a second of processor time.
    """
    gc.freeze()
    gc.enable()
    atexit.unregister(gc.freeze)
    atexit.register(gc.freeze)


def use_few_arenas() -> bool:
    """Let malloc use one arena a core instead of eight; call it before threads start. False: it cannot.

    The engines have dozens of threads, and an arena keeps what its threads have freed: without this the
    memory of writer and prober grows twice as fast with what they hold. The query service keeps its arenas:
    with one a core, four recalls at once take 5 to 10 % longer (ops/decisions/0083).
    """
    try:
        return bool(ctypes.CDLL(None).mallopt(_M_ARENA_MAX, os.cpu_count() or 1))
    except (OSError, AttributeError):
        return False


def map_large_blocks() -> bool:
    """Let malloc map each block of 256 KiB and more, so that freeing it returns it; False: it cannot.

    By default that limit rises with the blocks that were freed, up to 32 MiB. They then leave gaps in the
    arenas: the writer kept up to 110 MiB of them. Blocks that live as short as a recall are better kept.
    """
    try:
        return bool(ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _LARGE_BLOCK))
    except (OSError, AttributeError):
        return False


def return_free_memory() -> bool:
    """Give what malloc keeps free back to the system, milliseconds of work; False: it has or can nothing.

    Threads that allocate meanwhile wait for the arena that is looked through.
    """
    try:
        return bool(ctypes.CDLL(None).malloc_trim(0))
    except (OSError, AttributeError):
        return False


def end_with_parent() -> None:
    """End this process when the one that started it by `multiprocessing` ends; call it when it begins.

    Otherwise a process of a pool whose parent was killed waits for work for ever.
    """
    from multiprocessing import parent_process  # noqa: PLC0415  of no other process

    parent = parent_process()

    def wait() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def machine() -> str:
    """Name of this machine until it starts again."""
    boot = Path("/proc/sys/kernel/random/boot_id")
    return boot.read_text().strip() if boot.exists() else str(uuid.getnode())


def is_running(process: int) -> bool:
    """Whether a process with this id exists, of any user."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def allow_open_files() -> int:
    """Raise the limit of open files to the hard limit and return it.

    The soft limit of a shell is often 1,024. A generation of 10^6 memories has up to 600 files, and two or
    three generations are open during a swap.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard
