"""Downloads the newest generation from object storage into a data folder, where it is served as any other.

    <root>/parts/ab/ab12...          each part once, verified and synced; generations are hard links to it
    <root>/generations/, CURRENT     as a writer leaves them

A generation is complete here before it is current. A part that is missing, truncated or damaged leaves the
last good generation current; the next attempt downloads only what is missing here.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from helix_shared.artifacts.files.durability import sha256_of, sync, write_synced
from helix_shared.artifacts.files.file_tree import plain_tree
from helix_shared.artifacts.generation.folders import (
    SIGNALS,
    STAGING,
    current_number,
    folder_of,
    published_numbers,
    staging_of,
)
from helix_shared.artifacts.generation.manifest import MANIFEST_NAME, FileEntry, Manifest
from helix_shared.artifacts.generation.publishing import set_pointer
from helix_shared.artifacts.object_storage.layout import PARTS, GenerationPosition, part_path
from helix_shared.artifacts.object_storage.remote import read_manifest, read_pointer, stored_positions
from helix_shared.errors import CorruptArtifactError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Container
    from pathlib import Path

    from helix_shared.artifacts.object_storage.remote import StoredManifest
    from helix_shared.artifacts.object_storage.store import ObjectStore, ObjectVersion

_REQUESTS_IN_FLIGHT: Final = 8
_UNFINISHED: Final = ".unfinished"
_NONE: Final = GenerationPosition(0, 0)


class BadPartError(CorruptArtifactError):
    """A part is missing, truncated or damaged."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(f"part is {kind}: {message}")
        self.kind = kind


@dataclass(frozen=True, slots=True)
class PulledGeneration:
    """A generation that is current now."""

    manifest: Manifest
    bytes: int
    """Downloaded; parts that were here are not counted."""


class Puller:
    """The data folder of one replica; used by one thread."""

    def __init__(self, store: ObjectStore, root: Path) -> None:
        self._store = store
        self._root = root
        self._seen: ObjectVersion | None = None
        """Version of the pointer whose generation is here."""
        self._here = _position_here(root)
        self.newest: GenerationPosition = self._here
        """The generation that the pointer named last."""
        shutil.rmtree(root / STAGING, ignore_errors=True)
        for path in (root / PARTS).glob(f"*/*{_UNFINISHED}"):
            path.unlink(missing_ok=True)

    def pull(self) -> PulledGeneration | None:
        """Download the newest generation; None if it is here, or there is none.

        A folder without any generation takes an older one when the newest is damaged.

        Raises:
            CorruptArtifactError: something of the newest generation is missing or damaged.
            TemporaryError: the store does not answer.
        """
        found = read_pointer(self._store, unless=self._seen)
        if found is None:
            return None
        pointer, version = found
        self.newest = pointer.position
        if pointer.position == self._here:
            self._seen = version
            return None
        self._refuse_older(pointer.position)
        try:
            pulled = self._take(pointer.position, pointer.sha256)
        except CorruptArtifactError:
            if self._here == _NONE:
                self._take_older(pointer.position)
            raise
        self._seen = version
        return pulled

    def retire(self, *, keep: Container[int]) -> None:
        """Remove the generations whose numbers are not in `keep`, and the parts that only they had.

        Whoever has such a generation open keeps its files until it closes them.
        """
        for number in published_numbers(self._root):
            if number not in keep:
                trash = staging_of(self._root, f"retired-{number}")
                folder_of(self._root, number).rename(trash)
                shutil.rmtree(trash)
        for part in (self._root / PARTS).glob("*/*"):
            # the last link is the one here
            if part.stat().st_nlink == 1:
                part.unlink()

    def repair(self) -> bool:
        """Remove damaged parts from this disk; returns whether the current generation is to be made again.

        It is where a part was damaged, and where one of its files is missing, cut or another one. The next
        `pull` downloads the parts that are not here.
        """
        number = current_number(self._root)
        if number is None:
            return False
        parts = (path for path in (self._root / PARTS).glob("*/*") if path.suffix != _UNFINISHED)
        bad = [part for part in parts if sha256_of(part) != part.name]
        for part in bad:
            part.unlink()
        if not bad and self._is_linked(folder_of(self._root, number)):
            return False
        self._seen, self._here = None, _NONE
        return True

    def _is_linked(self, folder: Path) -> bool:
        """Whether a generation has the files of its manifest, each a link to its part, and no others."""
        try:
            entries = Manifest.read(folder).files
            files, _ = plain_tree(folder)
            parts = {entry.path: self._part(entry).stat() for entry in entries}
        except (CorruptArtifactError, FileNotFoundError):
            return False
        del files[MANIFEST_NAME]
        return files.keys() == parts.keys() and all(
            os.path.samestat(files[path], parts[path]) for path in parts
        )

    def _refuse_older(self, position: GenerationPosition) -> None:
        if position.epoch < self._here.epoch or position.generation <= self._here.generation:
            raise CorruptArtifactError(
                f"pointer of {self._store.url} went back to generation {position.generation} of epoch "
                f"{position.epoch}, generation {self._here.generation} of epoch {self._here.epoch} is here; "
                "empty the data folder of this replica if that is intended"
            )

    def _take_older(self, newest: GenerationPosition) -> None:
        """Take the newest generation before `newest` that is whole, if there is any."""
        for position in stored_positions(self._store):
            if position < newest:
                with contextlib.suppress(CorruptArtifactError, NotFoundError):
                    self._take(position)
                    return

    def _take(self, position: GenerationPosition, sha256: str = "") -> PulledGeneration:
        try:
            stored = read_manifest(self._store, position, sha256=sha256)
        except NotFoundError as error:
            raise CorruptArtifactError(f"manifest is missing: {error}") from error
        entries = {entry.sha256: entry for entry in stored.manifest.files}
        missing = [entry for entry in entries.values() if not self._is_here(entry)]
        with ThreadPoolExecutor(_REQUESTS_IN_FLIGHT, thread_name_prefix="pull") as pool:
            attempts = [pool.submit(self._download, entry, position.generation) for entry in missing]
        for attempt in attempts:
            attempt.result()  # the other parts are here for the next attempt
        self._link(stored)
        self._here = position
        return PulledGeneration(stored.manifest, sum(entry.size for entry in missing))

    def _part(self, entry: FileEntry) -> Path:
        return self._root / part_path(entry.sha256)

    def _is_here(self, entry: FileEntry) -> bool:
        part = self._part(entry)
        return part.is_file() and part.stat().st_size == entry.size

    def _download(self, entry: FileEntry, generation: int) -> None:
        part, path = self._part(entry), part_path(entry.sha256)
        part.parent.mkdir(parents=True, exist_ok=True)
        unfinished = part.with_name(part.name + _UNFINISHED)
        of = f"{entry.path} of generation {generation}"
        try:
            found = self._store.download(path, unfinished, size=entry.size)
        except NotFoundError as error:
            raise BadPartError("missing", f"{path} of {self._store.url}, {of}") from error
        except CorruptArtifactError as error:
            raise BadPartError("truncated", f"{error}; {of}") from error
        if found != entry.sha256:
            raise BadPartError("damaged", f"{path} of {self._store.url}, {of}")
        unfinished.replace(part)

    def _link(self, stored: StoredManifest) -> None:
        number = stored.position.generation
        staging, target = staging_of(self._root, str(number)), folder_of(self._root, number)
        shutil.rmtree(staging, ignore_errors=True)
        shutil.rmtree(target, ignore_errors=True)
        # without a memory it has no file, and object storage has no folders
        (staging / SIGNALS).mkdir(parents=True)
        for entry in stored.manifest.files:
            (staging / entry.path).parent.mkdir(parents=True, exist_ok=True)
            (staging / entry.path).hardlink_to(self._part(entry))
        write_synced(staging / MANIFEST_NAME, stored.body)
        for folder in (path for path in staging.rglob("*") if path.is_dir()):
            sync(folder)
        sync(staging)
        target.parent.mkdir(parents=True, exist_ok=True)
        staging.rename(target)
        sync(target.parent)
        set_pointer(self._root, number)


def _position_here(root: Path) -> GenerationPosition:
    """Position of the current generation; none where CURRENT or its manifest is damaged."""
    try:
        number = current_number(root)
        if number is None:
            return _NONE
        manifest = Manifest.read(folder_of(root, number))
    except CorruptArtifactError:
        return _NONE
    return GenerationPosition(manifest.epoch, manifest.generation)
