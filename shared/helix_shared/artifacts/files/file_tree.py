"""The files and folders below a folder of a generation."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from helix_shared.errors import CorruptArtifactError

if TYPE_CHECKING:
    from pathlib import Path


def plain_tree(folder: Path) -> tuple[dict[str, os.stat_result], list[str]]:
    """Status of the files below `folder` by relative path, and the relative paths of folders, "" first.

    Builds no `Path` objects, since a swap walks a hundred files while recalls run.

    Raises:
        CorruptArtifactError: there is something other than plain files and folders.
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
                        f"generation holds something other than plain files: {entry.path}"
                    )
    return files, folders
