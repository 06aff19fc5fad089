"""Uploads the current generation of a data folder: parts, then its manifest, then the pointer.

The pointer is what readers follow, and replacing it is the only step that counts: it happens if nobody
replaced the pointer since its epoch was compared. A writer with an older epoch than the pointer is fenced and
publishes nothing. The epoch is that of the lease under which the generation was published.

A part is skipped when the generation of the pointer names it, or when it was uploaded a short time ago: such
a part is never collected. Any other part is uploaded again even if it exists, because another writer may be
about to collect it.
"""

from __future__ import annotations

import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from helix_shared.artifacts.generation.folders import current_number, folder_of
from helix_shared.artifacts.generation.manifest import MANIFEST_NAME, FileEntry, Manifest
from helix_shared.artifacts.object_storage.layout import (
    PARTS,
    POINTER,
    GenerationPosition,
    Pointer,
    part_path,
    sha256_of_bytes,
)
from helix_shared.artifacts.object_storage.record import UploadRecord
from helix_shared.artifacts.object_storage.remote import StoredManifest, read_manifest, stored_positions
from helix_shared.artifacts.object_storage.repairing import has_manifest, pointer_to_replace, put_manifest
from helix_shared.artifacts.object_storage.store import SMALL_BYTES, ConflictError
from helix_shared.errors import CorruptArtifactError, NotFoundError, PermanentError, TemporaryError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from helix_shared.artifacts.object_storage.store import ObjectStore, ObjectVersion

OUTGOING: Final = "uploading"
"""Folder in the data folder with links to what is being uploaded: retiring does not take it away."""
_UPLOADS_IN_FLIGHT: Final = 8
"""Small parts that are uploaded at the same time; large ones follow one by one."""
_NONE: Final = GenerationPosition(0, 0)


class FencedError(PermanentError):
    """A later writer publishes to this address."""


@dataclass(frozen=True, slots=True)
class UploadResult:
    """The result of one upload."""

    manifest: Manifest
    bytes: int
    parts: int
    skipped: int


class Uploader:
    """The uploads of one data folder; used by one thread."""

    def __init__(self, store: ObjectStore, root: Path, *, grace_seconds: float) -> None:
        """`grace_seconds` is the age below which no part is collected."""
        self._store = store
        self._root = root
        self._fresh_seconds = grace_seconds / 2
        self._fresh: dict[str, float] = {}
        """When parts were uploaded, on the monotonic clock."""
        self._pointed: StoredManifest | None = None
        self._is_listed = False
        self.record = UploadRecord.read(root, store.url)
        shutil.rmtree(root / OUTGOING, ignore_errors=True)

    @property
    def fresh(self) -> set[str]:
        """Parts that were uploaded a short time ago."""
        since = time.monotonic() - self._fresh_seconds
        return {sha256 for sha256, at in self._fresh.items() if at > since}

    @property
    def pointed(self) -> StoredManifest | None:
        """The manifest of the pointer, as it was read or written last."""
        return self._pointed

    def upload(self) -> UploadResult | None:
        """Upload the current generation; None if it is there already, or there is none.

        Raises:
            FencedError: a later writer publishes to the address.
            PermanentError: the address has generations of another data folder.
            CorruptArtifactError: an object there is damaged.
            TemporaryError: the store does not answer, or the generation was retired meanwhile.
        """
        number = current_number(self._root)
        if number is None:
            return None
        if self._pointed is not None and self._pointed.manifest.generation == number:
            return None
        with self._held(number) as folder:
            return self._upload(folder)

    def restore_parts(self, missing: Iterable[str]) -> int:
        """Upload parts of the pointer's generation again; returns how many this folder still has."""
        if self._pointed is None:
            return 0
        wanted = set(missing)
        folder = folder_of(self._root, self._pointed.manifest.generation)
        entries = {entry.sha256: entry for entry in self._pointed.manifest.files if entry.sha256 in wanted}
        present = [entry for entry in entries.values() if (folder / entry.path).is_file()]
        self._upload_parts(folder, present)
        return len(present)

    def repair(self) -> bool:
        """Write manifest and pointer of the last upload again if one is missing or damaged; returns whether.

        Raises: as `upload`.
        """
        stored = self._pointed
        if stored is None:
            return False
        pointer, version = pointer_to_replace(self._store)
        is_named = pointer is not None and pointer.sha256 == sha256_of_bytes(stored.body)
        is_foreign = pointer is not None and not is_named
        if is_foreign or (is_named and has_manifest(self._store, stored)):
            return False
        try:
            self._publish(stored, version if is_named else self._follow(stored))
        finally:
            self._pointed = stored
        return True

    def forget(self, sha256s: Iterable[str]) -> None:
        """Note that parts were collected, so that they are not skipped."""
        for sha256 in sha256s:
            self._fresh.pop(sha256, None)

    def tell(self, problem: str) -> None:
        """Record why uploads fail; empty: they do not."""
        if self.record.problem != problem:
            self.record = self.record.model_copy(update={"problem": problem})
            self.record.write(self._root)

    @contextmanager
    def _held(self, number: int) -> Iterator[Path]:
        """Links to all files of a generation, until the block is left."""
        source, target = folder_of(self._root, number), self._root / OUTGOING / str(number)
        try:
            manifest = Manifest.read(source)
            for path in (MANIFEST_NAME, *(entry.path for entry in manifest.files)):
                (target / path).parent.mkdir(parents=True, exist_ok=True)
                (target / path).hardlink_to(source / path)
            yield target
        except (FileNotFoundError, CorruptArtifactError) as error:
            if source.is_dir():
                raise
            raise TemporaryError(f"generation {number} was retired before it was uploaded") from error
        finally:
            shutil.rmtree(target, ignore_errors=True)

    def _upload(self, folder: Path) -> UploadResult | None:
        body = (folder / MANIFEST_NAME).read_bytes()
        manifest = Manifest.parse(body, where=str(folder))
        stored = StoredManifest(GenerationPosition(manifest.epoch, manifest.generation), body, manifest)
        version = self._follow(stored)
        entries = {entry.sha256: entry for entry in manifest.files}
        if self._pointed is not None and self._pointed.body == body:
            if self.record.generation != manifest.generation:
                # a writer that ended after the pointer did not note it
                self._note(UploadResult(manifest, 0, 0, len(entries)))
            return None
        known = self._known()
        missing = [entry for sha256, entry in entries.items() if sha256 not in known]
        self._upload_parts(folder, missing)
        self._publish(stored, version)
        sent = sum(entry.size for entry in missing)
        uploaded = UploadResult(manifest, sent, len(missing), len(entries) - len(missing))
        self._note(uploaded)
        return uploaded

    def _follow(self, stored: StoredManifest) -> ObjectVersion | None:
        """Check that a generation may follow the pointer; returns its version, None where it is missing.

        A damaged one is replaced where the newest manifest is of this data folder.

        Raises: as `upload`.
        """
        # a writer that took the folder over finds what the last one recorded there
        self.record = UploadRecord.read(self._root, self._store.url)
        pointer, version = pointer_to_replace(self._store)
        if pointer is None:
            self._pointed = None
            newest = max(stored_positions(self._store), default=_NONE)
            self._ensure_not_fenced(stored.position, newest.epoch)
            is_own = newest == _NONE or newest.path in self.record.manifests
            is_damaged = version is not None
            if is_damaged and not (is_own and newest <= stored.position):
                raise CorruptArtifactError(f"object {POINTER} of {self._store.url} is damaged")
            return version
        self._ensure_not_fenced(stored.position, pointer.epoch)
        if not self._is_own(pointer):
            raise PermanentError(
                f"{self._store.url} has generation {pointer.generation} of another data folder; "
                "nothing is uploaded: use another prefix for this one"
            )
        if pointer.generation > stored.position.generation:
            raise PermanentError(
                f"{self._store.url} has generation {pointer.generation} already, this folder is at "
                f"{stored.position.generation}; nothing is uploaded"
            )
        if self._pointed is None or sha256_of_bytes(self._pointed.body) != pointer.sha256:
            # without its manifest every part is uploaded
            self._pointed = None
            with suppress(NotFoundError, CorruptArtifactError):
                self._pointed = read_manifest(self._store, pointer.position, sha256=pointer.sha256)
        return version

    def _ensure_not_fenced(self, position: GenerationPosition, epoch: int) -> None:
        if epoch > position.epoch:
            raise FencedError(
                f"a writer of epoch {epoch} publishes to {self._store.url}, this generation is of epoch "
                f"{position.epoch}: nothing is uploaded"
            )

    def _is_own(self, pointer: Pointer) -> bool:
        """Whether this data folder published it."""
        if self.record.manifests.get(pointer.position.path) == pointer.sha256:
            return True
        local = folder_of(self._root, pointer.generation) / MANIFEST_NAME
        return local.is_file() and sha256_of_bytes(local.read_bytes()) == pointer.sha256

    def _known(self) -> set[str]:
        """Parts that need no upload."""
        if not self._is_listed:
            # what an upload brought that was interrupted by a restart
            listed = list(self._store.list(PARTS))
            newest = max((one.modified for one in listed), default=datetime.now(UTC))
            oldest = newest - timedelta(seconds=self._fresh_seconds)
            names = (one.path.rpartition("/")[2] for one in listed if one.modified > oldest)
            self._fresh |= dict.fromkeys(names, time.monotonic())
            self._is_listed = True
        return self.fresh.union(() if self._pointed is None else self._pointed.sizes)

    def _upload_parts(self, folder: Path, entries: list[FileEntry]) -> None:
        def send(entry: FileEntry) -> None:
            self._store.upload(part_path(entry.sha256), folder / entry.path)
            self._fresh[entry.sha256] = time.monotonic()

        with ThreadPoolExecutor(_UPLOADS_IN_FLIGHT, thread_name_prefix="upload") as pool:
            list(pool.map(send, (entry for entry in entries if entry.size <= SMALL_BYTES)))
        for entry in entries:
            if entry.size > SMALL_BYTES:
                send(entry)

    def _publish(self, stored: StoredManifest, version: ObjectVersion | None) -> None:
        sha256 = sha256_of_bytes(stored.body)
        # before the manifest: after a crash the next start knows it as its own
        self.record = self.record.with_manifest(stored.position.path, sha256)
        self.record.write(self._root)
        put_manifest(self._store, stored)
        pointer = Pointer(epoch=stored.position.epoch, generation=stored.position.generation, sha256=sha256)
        body = pointer.model_dump_json().encode()
        try:
            if version is None:
                self._store.create(POINTER, body)
            else:
                self._store.replace(POINTER, body, version)
        except ConflictError:
            self._follow(stored)  # says who replaced it
            raise
        self._pointed = stored

    def _note(self, uploaded: UploadResult) -> None:
        manifest = uploaded.manifest
        self.record = self.record.model_copy(
            update={
                "generation": manifest.generation,
                "published_at": manifest.published_at,
                "uploaded_at": datetime.now(UTC),
                "uploaded_bytes": uploaded.bytes,
                "uploaded_parts": uploaded.parts,
                "skipped_parts": uploaded.skipped,
                "problem": "",
            }
        )
        self.record.write(self._root)
