"""What lies below a folder of a generation: plain files and folders, and nothing else."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from helix_shared.errors import CorruptArtifactError

if TYPE_CHECKING:
    from pathlib import Path


def plain_tree(folder: Path) -> tuple[dict[str, os.stat_result], list[str]]:
    """Files below `folder` by path relative to it, and the folders, itself ("") first.

    A swap walks a hundred files while recalls run, so it walks without making paths of them.

    Raises:
        CorruptArtifactError: there is something else below it.
    """
    files: dict[str, os.stat_result] = {}
    folders, walked = [""], 0
    while walked < len(folders):
        prefix, walked = folders[walked], walked + 1
        with os.scandir(folder / prefix) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(f"{prefix}{entry.name}/")
                elif entry.is_file(follow_symlinks=False):
                    files[f"{prefix}{entry.name}"] = entry.stat(follow_symlinks=False)
                else:
                    raise CorruptArtifactError(
                        f"generation holds something that is no plain file: {entry.path}"
                    )
    return files, folders
