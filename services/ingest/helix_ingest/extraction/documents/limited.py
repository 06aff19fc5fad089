"""Runs the reader of a file in a child process with limits of CPU time and memory.

A file of a few kilobytes can decompress to gigabytes or keep a parser busy for hours. The limits count CPU
time, so that the same file gives the same result on a busy machine. `limited_process` is the other side.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from dataclasses import dataclass
from typing import Any, Final

from helix_shared.errors import InvalidInputError, TemporaryError

MEMORY_BYTES: Final = 1024**3
WALL_SECONDS: Final = 120


@dataclass(frozen=True, slots=True)
class Reader:
    """A reader of files: its module, what it reads, and its CPU time in seconds."""

    module: str
    what: str
    cpu_seconds: int


def answer_of(reader: Reader, source: bytes, field: str) -> dict[str, Any]:
    """What the reader answers about a file, which stands in `field` of its event.

    Raises:
        InvalidInputError: the reader refuses the file, or the file breaks a limit.
        TemporaryError: the machine is too busy to read it, or the reader cannot be started.
    """
    command = [sys.executable, "-I", "-m", reader.module, str(reader.cpu_seconds), str(MEMORY_BYTES)]
    try:
        done = subprocess.run(  # noqa: S603  the command has no part of the document
            command, input=source, capture_output=True, timeout=WALL_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise TemporaryError(f"the {reader.what} was not read in {WALL_SECONDS} s") from None
    if done.returncode == -signal.SIGXCPU:
        raise InvalidInputError(field, f"takes more than {reader.cpu_seconds} s of CPU time to read")
    if done.returncode in (-signal.SIGSEGV, -signal.SIGABRT):
        raise InvalidInputError(field, f"makes the reader of a {reader.what} crash")
    if done.returncode != 0:
        last = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise TemporaryError(f"the reader of a {reader.what} ended with status {done.returncode}: {last}")
    answer: dict[str, Any] = json.loads(done.stdout)
    if "refused" in answer:
        raise InvalidInputError(field, answer["refused"])
    return answer
