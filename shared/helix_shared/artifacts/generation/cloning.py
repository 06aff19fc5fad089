"""Cloning: a writable copy of a generation, from which the writer starts."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from helix_shared.artifacts.generation.folders import folder_of, staging_of
from helix_shared.artifacts.generation.manifest import Manifest
from helix_shared.artifacts.lexicon.files import REPLACED
from helix_shared.errors import CorruptArtifactError

if TYPE_CHECKING:
    from pathlib import Path


def clone(root: Path, generation: int, into: Path) -> Manifest:
    """Make `into` a writable copy of a generation by hard links; what was there before is removed.

    Files that an engine replaces in place are copied.

    Raises:
        CorruptArtifactError: the generation is not complete.
    """
    folder = folder_of(root, generation)
    manifest = Manifest.read(folder)
    staging = staging_of(root, f"clone-{generation}")
    shutil.rmtree(staging, ignore_errors=True)
    for entry in manifest.files:
        source, target = folder / entry.path, staging / entry.path
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            if source.name in REPLACED:
                shutil.copyfile(source, target)
            else:
                target.hardlink_to(source)
        except FileNotFoundError as error:
            raise CorruptArtifactError(f"generation {generation} lacks a file: {entry.path}") from error
    shutil.rmtree(into, ignore_errors=True)
    staging.rename(into)
    return manifest
