"""The bytes of backups, each piece once: a file named by its SHA-256. A later backup adds what is new.

What is there is compared with its name before a backup counts on it, unless its size and time are those that
it was written or compared with: a later backup does not read all that the earlier ones wrote.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

from helix_shared.artifacts.files.durability import sha256_of, sync
from helix_shared.errors import CorruptArtifactError
from helix_shared.json_object import json_object
from helix_shared.machine.whole_file import remove_drafts, write_whole

OBJECTS: Final = "objects"
_DRAFTS: Final = "drafts"
_CHECKED: Final = "checked.json"
"""Size and time of the pieces of the last backup."""
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
    _checked: dict[str, list[int]] | None = None
    """Name -> size and time with which a piece was whole; None: not read yet."""

    def put(self, piece: bytes) -> str:
        """Keep a piece; returns its name."""
        name = hashlib.sha256(piece).hexdigest()
        if self._is_new(name, len(piece)):
            draft = self._draft(name)
            draft.write_bytes(piece)
            self._keep(draft, name)
        return name

    def keep_again(self, name: str) -> bool:
        """Count a piece of an earlier backup to this one; False: it is missing or damaged."""
        if not self._is_whole(name):
            return False
        if name not in self._put:
            self._put.add(name)
            self.all_bytes += self.path(name).stat().st_size
        return True

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

    def end(self) -> None:
        """Note size and time of the pieces that were put; the next backup need not read those again."""
        noted = {name: _stamp(self.path(name)) for name in sorted(self._put)}
        write_whole(self.root / OBJECTS / _CHECKED, json.dumps(noted).encode())

    def clear_drafts(self) -> None:
        """Remove what a backup that was ended left."""
        remove_drafts(self.root / OBJECTS)
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
        if self._is_whole(name):
            return False
        self.new_bytes += size
        return True

    def _is_whole(self, name: str) -> bool:
        """Whether a piece is there and is what was written."""
        path = self.path(name)
        if not path.is_file():
            return False
        if self._checked is None:
            self._checked = _read_checked(self.root / OBJECTS / _CHECKED)
        return self._checked.get(name) == _stamp(path) or sha256_of(path) == name

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


def _stamp(path: Path) -> list[int]:
    status = path.stat()
    return [status.st_size, status.st_mtime_ns]


def _read_checked(path: Path) -> dict[str, list[int]]:
    """What the last backup noted; empty: every piece is read."""
    try:
        return json_object(path.read_bytes())
    except OSError:
        return {}
