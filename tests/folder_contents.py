"""What the files below a folder hold, while processes write, rename and remove some of them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path


def contents(folder: Path) -> Iterator[tuple[Path, bytes]]:
    """The files below a folder with their bytes; without links, and without what goes meanwhile."""
    for at, _, names in os.walk(folder):  # it passes over folders that go
        for name in sorted(names):
            file = Path(at, name)
            with contextlib.suppress(FileNotFoundError):
                if file.is_file() and not file.is_symlink():
                    yield file, file.read_bytes()


def files_with(folder: Path, word: str) -> list[Path]:
    """The files below a folder that hold a word as it is."""
    return [file for file, content in contents(folder) if word.encode() in content]
