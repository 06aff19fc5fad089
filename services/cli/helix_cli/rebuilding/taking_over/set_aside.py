"""The generation whose place is taken stays under a name of its own, until the operator discards it.

It is a data folder of one generation, `<data>/replaced/<number>`, of hard links: it costs the disk that the
old stores had. It goes when something is erased, because it would keep the text.
"""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from helix_consolidation.stores.anew import REPLACED
from helix_shared.artifacts.files.durability import sync, write_synced
from helix_shared.artifacts.generation.folders import CURRENT, folder_of

if TYPE_CHECKING:
    from pathlib import Path


def set_aside(data: Path, number: int) -> Path:
    """Keep generation `number` of `data`, damaged or not; returns its folder. A repetition replaces it."""
    place = data / REPLACED / f"{number:012d}"
    shutil.rmtree(place, ignore_errors=True)
    target = folder_of(place, number)
    target.parent.mkdir(parents=True)
    shutil.copytree(folder_of(data, number), target, copy_function=os.link, symlinks=True)
    write_synced(place / CURRENT, f"{number}\n".encode())
    sync(place)
    return place


def discard_old(data: Path) -> list[Path]:
    """Remove all that was set aside; returns the folders."""
    folder = data / REPLACED
    found = sorted(folder.iterdir()) if folder.is_dir() else []
    shutil.rmtree(folder, ignore_errors=True)
    return found
