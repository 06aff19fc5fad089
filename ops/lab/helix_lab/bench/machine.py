"""The machine on which figures were measured."""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import platform
import time
from pathlib import Path
from typing import Any, Final

_PACKAGES: Final = ("lancedb", "pylance", "tantivy", "onnxruntime", "numpy", "pyarrow", "grpcio")
_KIB: Final = 1_024
_REFERENCE_STEPS: Final = 300_000
_REFERENCE_BYTES: Final = 10_000_000


def machine() -> dict[str, Any]:
    """Cores, processor, memory and versions."""
    return {
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "cpu": _field(Path("/proc/cpuinfo"), "model name") or platform.processor(),
        "memory_bytes": _kibibytes(_field(Path("/proc/meminfo"), "MemTotal")),
        "load_before": [round(load, 2) for load in os.getloadavg()],
        "system": platform.platform(),
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in _PACKAGES},
    }


def reference_ms() -> float:
    """Milliseconds of a fixed piece of work on one core now, the best of three.

    It shows a machine that is shared or slows down under load. Compare times of two sections or runs only
    where it is the same.
    """
    taken = []
    for _ in range(3):
        started = time.perf_counter()
        sum(number * number for number in range(_REFERENCE_STEPS))
        hashlib.sha256(bytes(_REFERENCE_BYTES)).digest()
        taken.append((time.perf_counter() - started) * 1_000)
    return round(min(taken), 1)


def _field(path: Path, name: str) -> str:
    lines = path.read_text().splitlines() if path.exists() else []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(name)), "")


def _kibibytes(text: str) -> int:
    digits = text.partition(" ")[0]
    return int(digits) * _KIB if digits.isdigit() else 0


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""
