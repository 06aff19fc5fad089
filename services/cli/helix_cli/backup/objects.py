"""The bytes of backups, each piece once: a file named by its SHA-256. A later backup adds what is new."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

from helix_shared.artifacts.files.durability import sha256_of, sync
from helix_shared.errors import CorruptArtifactError

OBJECTS: Final = "objects"
_DRAFTS: Final = "drafts"
_CHUNK_BYTES: Final = 1 << 20


class Pieces(Protocol):
    """Where pieces are kept: as they are (`Objects`), or under a key (`sealed.SealedObjects`)."""

    def put(self, piece: bytes) -> str:
        """Keep a piece; returns its name."""

    def read(self, name: str) -> bytes:
        """A piece, checked."""


@dataclass(slots=True)
class Objects:
    """The pieces below the folder of a backup."""

    root: Path
    new_bytes: int = 0
    all_bytes: int = 0
    """Of the pieces that were put, new or not; each once."""
    _put: set[str] = field(default_factory=set)

    def put(self, piece: bytes) -> str:
        """Keep a piece; returns its name."""
        name = hashlib.sha256(piece).hexdigest()
        if self._is_new(name, len(piece)):
            draft = self._draft(name)
            draft.write_bytes(piece)
            self._keep(draft, name)
        return name

    def keep_again(self, name: str) -> bool:
        """Count a piece of an earlier backup to this one; False: it is missing."""
        path = self.path(name)
        if path.is_file() and name not in self._put:
            self._put.add(name)
            self.all_bytes += path.stat().st_size
        return path.is_file()

    def put_file(self, path: Path, name: str, size: int) -> None:
        """Keep a file whose SHA-256 is known.

        Raises:
            CorruptArtifactError: the file has another.
        """
        if not self._is_new(name, size):
            return
        draft, digest = self._draft(name), hashlib.sha256()
        with path.open("rb") as source, draft.open("wb") as target:
            while chunk := source.read(_CHUNK_BYTES):
                digest.update(chunk)
                target.write(chunk)
        if digest.hexdigest() != name:
            draft.unlink()
            raise CorruptArtifactError(f"{path} differs from its manifest; it is not backed up")
        self._keep(draft, name)

    def path(self, name: str) -> Path:
        """Where a piece lies."""
        return self.root / OBJECTS / name[:2] / name

    def read(self, name: str) -> bytes:
        """A piece, checked.

        Raises:
            CorruptArtifactError: it is missing or damaged.
        """
        try:
            piece = self.path(name).read_bytes()
        except OSError as error:
            raise CorruptArtifactError(f"a piece of the backup is missing: {self.path(name)}") from error
        if hashlib.sha256(piece).hexdigest() != name:
            raise CorruptArtifactError(f"a piece of the backup is damaged: {self.path(name)}")
        return piece

    def check(self, name: str) -> int:
        """Compare a piece with its name; returns its size.

        Raises:
            CorruptArtifactError: it is missing or damaged.
        """
        path = self.path(name)
        if not path.is_file():
            raise CorruptArtifactError(f"a piece of the backup is missing: {path}")
        if sha256_of(path) != name:
            raise CorruptArtifactError(f"a piece of the backup is damaged: {path}")
        return path.stat().st_size

    def copy_to(self, name: str, target: Path) -> None:
        """Write a piece to a file, checked and synced.

        Raises: as `check`.
        """
        target.parent.mkdir(parents=True, exist_ok=True)
        digest = hashlib.sha256()
        try:
            with self.path(name).open("rb") as source, target.open("wb") as copy:
                while chunk := source.read(_CHUNK_BYTES):
                    digest.update(chunk)
                    copy.write(chunk)
                copy.flush()
                os.fsync(copy.fileno())
        except FileNotFoundError as error:
            raise CorruptArtifactError(f"a piece of the backup is missing: {self.path(name)}") from error
        if digest.hexdigest() != name:
            raise CorruptArtifactError(f"a piece of the backup is damaged: {self.path(name)}")

    def clear_drafts(self) -> None:
        """Remove what a backup that was ended left."""
        folder = self.root / OBJECTS / _DRAFTS
        for path in folder.iterdir() if folder.is_dir() else ():
            path.unlink()

    def remove_others(self, kept: set[str]) -> int:
        """Remove every piece that is not in `kept`; returns the bytes that are free now."""
        freed = 0
        for path in (self.root / OBJECTS).glob("??/*"):
            if path.name not in kept:
                freed += path.stat().st_size
                path.unlink()
        return freed

    def _is_new(self, name: str, size: int) -> bool:
        if name in self._put:
            return False
        self._put.add(name)
        self.all_bytes += size
        path = self.path(name)
        if path.is_file() and path.stat().st_size == size:
            return False
        self.new_bytes += size
        return True

    def _draft(self, name: str) -> Path:
        folder = self.root / OBJECTS / _DRAFTS
        folder.mkdir(parents=True, exist_ok=True)
        return folder / name

    def _keep(self, draft: Path, name: str) -> None:
        sync(draft)
        path = self.path(name)
        if not path.parent.is_dir():
            path.parent.mkdir(parents=True, exist_ok=True)
            sync(path.parent.parent)
        draft.replace(path)
        sync(path.parent)
