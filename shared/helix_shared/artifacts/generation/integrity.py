"""Checksums and durability: that a generation is on the disk, and is what its manifest says.

Neither LanceDB nor tantivy notices every damaged byte, and LanceDB does not fsync; so a file is
hashed and synced once when it is published, and hashed once by every reader.
"""

from __future__ import annotations

import hashlib
import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

from helix_shared.artifacts.files.file_tree import plain_tree
from helix_shared.artifacts.generation.manifest import FORMAT_VERSION, MANIFEST_NAME, FileEntry, Manifest
from helix_shared.errors import CorruptArtifactError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_CHUNK_BYTES: Final = 1 << 20
_SYNCED_AT_ONCE: Final = 8
_READABLE: Final = 0o644


class Checksums:
    """What is known of files that are hashed and synced already; a hard link is the same file."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self._known)

    def learn(self, folder: Path, manifest: Manifest) -> None:
        """Trust the checksums of a generation this process was started from."""
        for entry in manifest.files:
            path = folder / entry.path
            if path.is_file() and (status := path.stat()).st_size == entry.size:
                self._known[_identity(status)] = entry.sha256

    def know(self, sums: Mapping[str, str]) -> None:
        """Files that `settled` before they were published, while nobody waited for it."""
        self._known |= sums

    def settle(self, folder: Path) -> tuple[FileEntry, ...]:
        """Hash and sync all new files of a folder, make all readable, and list them by path."""
        files, folders = plain_tree(folder)
        identities = {name: _identity(status) for name, status in files.items()}
        fresh = [name for name, identity in identities.items() if identity not in self._known]
        # Syncs that are asked for together are done together by the disk's journal.
        with ThreadPoolExecutor(_SYNCED_AT_ONCE) as pool:
            sums = dict(zip(fresh, pool.map(_settled, (folder / name for name in fresh)), strict=True))
            list(pool.map(sync, (folder / name for name in folders)))
        self._known = {
            identity: sums.get(name) or self._known[identity] for name, identity in identities.items()
        }
        return tuple(
            FileEntry(path=name, size=files[name].st_size, sha256=self._known[identities[name]])
            for name in sorted(files)
        )


def settled(folder: Path) -> dict[str, str]:
    """Hash and sync the files of a folder ahead of their publication; for `Checksums.know`."""
    files, _ = plain_tree(folder)
    return {_identity(status): _settled(folder / name) for name, status in files.items()}


def verify(folder: Path, *, known: set[tuple[str, str]], beside: bool = False) -> Manifest:
    """Check that a generation's folder holds the files of its manifest, byte for byte, and no others.

    `known` are files verified before (identity, sha256), which are not read again; afterwards it
    holds the files of this generation. One core reads if it is done `beside` other work, else all.

    Raises:
        CorruptArtifactError: another format, or a file is missing, unexpected, linked or damaged.
    """
    manifest = Manifest.read(folder)
    if manifest.format_version != FORMAT_VERSION:
        raise CorruptArtifactError(f"generation has format {manifest.format_version}, not {FORMAT_VERSION}")
    files, _ = plain_tree(folder)
    present, named = files.keys() - {MANIFEST_NAME}, {entry.path for entry in manifest.files}
    if present != named or len(named) != len(manifest.files):
        missing, extra = sorted(named - present)[:3], sorted(present - named)[:3]
        raise CorruptArtifactError(f"generation has other files: {folder}: missing {missing}, extra {extra}")
    for entry in manifest.files:
        if files[entry.path].st_size != entry.size:
            raise CorruptArtifactError(f"file has another size than its manifest says: {folder / entry.path}")
    identities = {entry: (_identity(files[entry.path]), entry.sha256) for entry in manifest.files}
    unknown = [entry for entry, identity in identities.items() if identity not in known]
    largest_first = sorted(unknown, key=lambda entry: -entry.size)
    with ThreadPoolExecutor(1 if beside else os.cpu_count()) as pool:
        list(pool.map(lambda entry: _check(folder, entry), largest_first))
    known.clear()
    known.update(identities.values())
    return manifest


def sync(path: Path) -> None:
    """Wait until a file or folder is on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _check(folder: Path, entry: FileEntry) -> None:
    if sha256_of(folder / entry.path) != entry.sha256:
        raise CorruptArtifactError(f"file has another checksum than its manifest says: {folder / entry.path}")


def sha256_of(path: Path) -> str:
    """Checksum of a file."""
    digest = hashlib.sha256()
    with path.open("rb") as source:
        while chunk := source.read(_CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def _settled(path: Path) -> str:
    # tantivy makes files its owner alone may read; the query service may be another user.
    path.chmod(_READABLE)
    sync(path)
    return sha256_of(path)


def _identity(status: os.stat_result) -> str:
    return f"{status.st_dev}:{status.st_ino}:{status.st_size}:{status.st_mtime_ns}"
