"""Checksums of a generation: computed by the writer, checked once by every reader.

Neither LanceDB nor tantivy notices every damaged byte.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

from helix_shared.artifacts.files.durability import identity, sha256_of, sync, sync_and_hash
from helix_shared.artifacts.files.file_tree import plain_tree
from helix_shared.artifacts.generation.manifest import MANIFEST_NAME, FileEntry, Manifest, check_format
from helix_shared.errors import CorruptArtifactError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_SYNCS_IN_FLIGHT: Final = 8


class Checksums:
    """SHA-256 of files that are synced already, by `durability.identity`."""

    def __init__(self) -> None:
        self._sums: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self._sums)

    def add_generation(self, folder: Path, manifest: Manifest) -> None:
        """Take over the checksums of a published generation from its manifest."""
        for entry in manifest.files:
            path = folder / entry.path
            if path.is_file() and (status := path.stat()).st_size == entry.size:
                self._sums[identity(status)] = entry.sha256

    def add(self, sums: Mapping[str, str]) -> None:
        """Take over the result of `sync_and_hash_folder`."""
        self._sums |= sums

    def entries(self, folder: Path) -> tuple[FileEntry, ...]:
        """Sync and hash the new files of a folder, forget files outside it, and list all, sorted by path."""
        files, folders = plain_tree(folder)
        identities = {name: identity(status) for name, status in files.items()}
        fresh = [name for name, found in identities.items() if found not in self._sums]
        # the journal of a file system serves syncs that run at the same time together
        with ThreadPoolExecutor(_SYNCS_IN_FLIGHT) as pool:
            sums = dict(zip(fresh, pool.map(sync_and_hash, (folder / name for name in fresh)), strict=True))
            list(pool.map(sync, (folder / name for name in folders)))
        self._sums = {found: sums.get(name) or self._sums[found] for name, found in identities.items()}
        return tuple(
            FileEntry(path=name, size=files[name].st_size, sha256=self._sums[identities[name]])
            for name in sorted(files)
        )


def verify(folder: Path, *, verified: set[tuple[str, str]], beside: bool = False) -> Manifest:
    """Check that a generation's folder holds the files of its manifest, byte for byte, and no others.

    `verified` holds (identity, sha256) of files checked before, which are not read again; afterwards it
    holds exactly the files of this generation. `beside` reads on one core, otherwise on all.

    Raises:
        CorruptArtifactError: another format or number, or a file is missing, unexpected, linked or damaged.
    """
    manifest = Manifest.read(folder)
    check_format({"format_version": manifest.format_version})
    if folder.name.isdigit() and int(folder.name) != manifest.generation:
        raise CorruptArtifactError(f"folder has the manifest of generation {manifest.generation}: {folder}")
    files, _ = plain_tree(folder)
    present, named = files.keys() - {MANIFEST_NAME}, {entry.path for entry in manifest.files}
    if present != named or len(named) != len(manifest.files):
        missing, extra = sorted(named - present)[:3], sorted(present - named)[:3]
        raise CorruptArtifactError(f"generation has other files: {folder}: missing {missing}, extra {extra}")
    for entry in manifest.files:
        if files[entry.path].st_size != entry.size:
            raise CorruptArtifactError(f"file has another size than its manifest says: {folder / entry.path}")
    identities = {entry: (identity(files[entry.path]), entry.sha256) for entry in manifest.files}
    unchecked = [entry for entry, found in identities.items() if found not in verified]
    largest_first = sorted(unchecked, key=lambda entry: -entry.size)
    with ThreadPoolExecutor(1 if beside else os.cpu_count()) as pool:
        list(pool.map(lambda entry: _check(folder, entry), largest_first))
    verified.clear()
    verified.update(identities.values())
    return manifest


def _check(folder: Path, entry: FileEntry) -> None:
    if sha256_of(folder / entry.path) != entry.sha256:
        raise CorruptArtifactError(f"file has another checksum than its manifest says: {folder / entry.path}")
