"""The end of a file that may be larger than memory, such as a log."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def tail_of(path: Path, size_bytes: int) -> str:
    """The last `size_bytes` as text, with U+FFFD for what is no UTF-8; empty where there is no such file.

    Raises:
        OSError: it cannot be read.
    """
    try:
        with path.open("rb") as file:
            file.seek(max(file.seek(0, os.SEEK_END) - size_bytes, 0))
            return file.read(size_bytes).decode(errors="replace")
    except FileNotFoundError:
        return ""
