"""Durability: files that survive a power cut, and their checksums.

LanceDB and tantivy do not fsync everything that they write, so every file is synced here before a manifest
names it. A checksum is remembered by the file's identity, which a hard link shares.
"""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING, Final

from helix_shared.artifacts.files.file_tree import plain_tree

if TYPE_CHECKING:
    from pathlib import Path

_CHUNK_BYTES: Final = 1 << 20
_READABLE: Final = 0o644


def sync(path: Path) -> None:
    """Wait until a file or folder is on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_synced(path: Path, body: bytes) -> None:
    """Write a file and wait until it is on the disk."""
    with path.open("wb") as target:
        target.write(body)
        target.flush()
        os.fsync(target.fileno())


def identity(status: os.stat_result) -> str:
    """Identity of a file's content: equal for hard links, different after a write."""
    return f"{status.st_dev}:{status.st_ino}:{status.st_size}:{status.st_mtime_ns}"


def sha256_of(path: Path) -> str:
    """SHA-256 of a file as 64 hexadecimal digits."""
    digest = hashlib.sha256()
    with path.open("rb") as source:
        while chunk := source.read(_CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def sync_and_hash(path: Path) -> str:
    """Make a file readable for every user, sync it, and return its SHA-256."""
    # tantivy creates files with mode 0600; the query service may run as another user
    path.chmod(_READABLE)
    sync(path)
    return sha256_of(path)


def sync_and_hash_folder(folder: Path) -> dict[str, str]:
    """Do that for all files below `folder`; returns the checksums by `identity`."""
    files, _ = plain_tree(folder)
    return {identity(status): sync_and_hash(folder / name) for name, status in files.items()}
