"""The child process of `limited`: a file on standard input, JSON on standard output.

The answer is what the reader returns, or `{"refused": "reason"}`. Arguments: CPU time in seconds, memory in
bytes.
"""

from __future__ import annotations

import json
import logging
import resource
import sys
from collections.abc import Callable
from typing import Any


def answer_with(read: Callable[[bytes], dict[str, Any]]) -> None:
    """Set the limits and answer."""
    cpu_seconds, memory_bytes = map(int, sys.argv[1:3])
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    logging.disable(logging.CRITICAL)
    try:
        answer = read(sys.stdin.buffer.read())
    except MemoryError:
        answer = {"refused": f"needs more than {memory_bytes >> 20} MiB of memory to read"}
    json.dump(answer, sys.stdout)
