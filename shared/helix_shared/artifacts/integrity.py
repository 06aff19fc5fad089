"""Checksums and durability: that a generation is on the disk, and is what its manifest says.

Neither LanceDB nor tantivy notices every damaged byte, and LanceDB does not fsync; so a file is
hashed and synced once when it is published, and hashed once by every reader.
"""

from __future__ import annotations

import hashlib
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Final

from helix_shared.artifacts.manifest import FORMAT_VERSION, MANIFEST_NAME, FileEntry, Manifest
from helix_shared.errors import CorruptArtifactError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

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
            if path.is_file() and path.stat().st_size == entry.size:
                self._known[_identity(path)] = entry.sha256

    def know(self, sums: Mapping[str, str]) -> None:
        """Files that `settled` before they were published, while nobody waited for it."""
        self._known |= sums

    def settle(self, folder: Path) -> tuple[FileEntry, ...]:
        """Hash and sync all new files of a folder, make all readable, and list them by path."""
        paths = {path: _identity(path) for path in _files(folder)}
        fresh = [path for path, identity in paths.items() if identity not in self._known]
        # Syncs that are asked for together are done together by the disk's journal.
        with ThreadPoolExecutor(_SYNCED_AT_ONCE) as pool:
            settled = dict(zip(fresh, pool.map(_settled, fresh), strict=True))
            list(pool.map(sync, (folder, *_folders(folder))))
        sums = {path: settled.get(path) or self._known[identity] for path, identity in paths.items()}
        self._known = {identity: sums[path] for path, identity in paths.items()}
        entries = [
            FileEntry(path=path.relative_to(folder).as_posix(), size=path.stat().st_size, sha256=sums[path])
            for path in paths
        ]
        return tuple(sorted(entries, key=lambda entry: entry.path))


def settled(folder: Path) -> dict[str, str]:
    """Hash and sync the files of a folder ahead of their publication; for `Checksums.know`."""
    return {_identity(path): _settled(path) for path in list(_files(folder))}


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
    present = {path.relative_to(folder).as_posix() for path in _files(folder)} - {MANIFEST_NAME}
    named = {entry.path for entry in manifest.files}
    if present != named or len(named) != len(manifest.files):
        missing, extra = sorted(named - present)[:3], sorted(present - named)[:3]
        raise CorruptArtifactError(f"generation has other files: {folder}: missing {missing}, extra {extra}")
    with ThreadPoolExecutor(1 if beside else os.cpu_count()) as pool:
        largest_first = sorted(manifest.files, key=lambda entry: -entry.size)
        checked = set(pool.map(lambda entry: _checked(folder, entry, known), largest_first))
    known.clear()
    known.update(checked)
    return manifest


def sync(path: Path) -> None:
    """Wait until a file or folder is on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _checked(folder: Path, entry: FileEntry, known: set[tuple[str, str]]) -> tuple[str, str]:
    path = folder / entry.path
    found = (_identity(path), entry.sha256)
    if path.stat().st_size != entry.size:
        raise CorruptArtifactError(f"file has another size than its manifest says: {path}")
    if found not in known and sha256_of(path) != entry.sha256:
        raise CorruptArtifactError(f"file has another checksum than its manifest says: {path}")
    return found


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


def _identity(path: Path) -> str:
    status = path.stat()
    return f"{status.st_dev}:{status.st_ino}:{status.st_size}:{status.st_mtime_ns}"


def _files(folder: Path) -> Iterator[Path]:
    for path in folder.rglob("*"):
        if path.is_symlink() or not (path.is_file() or path.is_dir()):
            raise CorruptArtifactError(f"generation holds something that is no plain file: {path}")
        if path.is_file():
            yield path


def _folders(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_dir())
