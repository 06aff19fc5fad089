"""A folder whose modules have the names of those that we import: what a stranger's checkout may hold."""

from __future__ import annotations

import os
from pathlib import Path

NAMES = ("mcp", "nats", "queue", "typer", "structlog", "grpc", "numpy", "helix_shared")
"""Modules of ours, of packages that we use, and of the standard library."""


class HostileFolder:
    """The folder, which notes each of its modules that is run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._ran = path / "ran.txt"
        path.mkdir()
        for name in NAMES:
            note = f"open({str(self._ran)!r}, 'a').write('{name}\\n')\nraise SystemExit('hostile')\n"
            (path / f"{name}.py").write_text(note)

    @property
    def ran(self) -> list[str]:
        """The names of those that were run."""
        return self._ran.read_text().split() if self._ran.exists() else []


def environment_of_children() -> dict[str, str]:
    """Our environment; an empty part of PYTHONPATH would be the current folder, which somebody asked for."""
    parts = [part for part in os.environ.get("PYTHONPATH", "").split(os.pathsep) if part]
    return os.environ | {"PYTHONPATH": os.pathsep.join(parts)}
