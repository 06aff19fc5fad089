"""Retiring: old generations are removed, so that the disk holds only a few."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from helix_shared.artifacts.generation.folders import current_number, folder_of, published_numbers, staging_of

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path


def retire(root: Path, *, now: datetime, keep: int, min_age_seconds: float) -> list[int]:
    """Remove generations that are neither among the last `keep` nor younger than `min_age_seconds`.

    Both numbers are settings of consolidation. The current generation always stays, and so does any above it,
    which may be in publication. One from the future counts as old: the clock was wrong, and its age is not
    known. Returns the numbers of the removed generations.
    """
    newest = current_number(root)
    if newest is None:
        return []
    old = [
        number
        for number in published_numbers(root, up_to=newest)[max(1, keep) :]
        if abs(now.timestamp() - folder_of(root, number).stat().st_mtime) >= min_age_seconds
    ]
    for number in old:
        # Renamed before it is deleted, so that no reader sees half a generation.
        trash = staging_of(root, f"retired-{number}")
        shutil.rmtree(trash, ignore_errors=True)
        folder_of(root, number).rename(trash)
        shutil.rmtree(trash)
    return old
