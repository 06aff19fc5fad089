"""Reads the pointer and manifests of object storage; used by the writer and by replicas."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from helix_shared.artifacts.generation.manifest import Manifest, check_format
from helix_shared.artifacts.object_storage.layout import (
    MANIFESTS,
    POINTER,
    GenerationPosition,
    Pointer,
    sha256_of_bytes,
)
from helix_shared.errors import CorruptArtifactError, NotFoundError

if TYPE_CHECKING:
    from helix_shared.artifacts.object_storage.store import ObjectStore, ObjectVersion


@dataclass(frozen=True, slots=True)
class StoredManifest:
    """A manifest as it lies in object storage."""

    position: GenerationPosition
    body: bytes
    manifest: Manifest

    @property
    def sizes(self) -> dict[str, int]:
        """Size of every part, by its checksum."""
        return {entry.sha256: entry.size for entry in self.manifest.files}


def read_pointer(
    store: ObjectStore, *, unless: ObjectVersion | None = None
) -> tuple[Pointer, ObjectVersion] | None:
    """The pointer and its version; None before the first, or if it is still that of `unless`.

    Raises:
        CorruptArtifactError: it is damaged.
        TemporaryError: the store does not answer.
    """
    try:
        found = store.read(POINTER, unless=unless)
    except NotFoundError:
        return None
    return None if found is None else (Pointer.parse(found.body), found.version)


def read_manifest(store: ObjectStore, position: GenerationPosition, *, sha256: str = "") -> StoredManifest:
    """The manifest of a generation; with `sha256`, only one with this checksum.

    Raises:
        NotFoundError: there is none.
        CorruptArtifactError: it is damaged, of another generation, or of another format.
        TemporaryError: the store does not answer.
    """
    where = f"{store.url}/{position.path}"
    found = store.read(position.path)
    body = b"" if found is None else found.body
    if sha256 and sha256_of_bytes(body) != sha256:
        raise CorruptArtifactError(f"manifest {where} has another checksum than the pointer says")
    manifest = Manifest.parse(body, where=where)
    check_format({"format_version": manifest.format_version})
    if (manifest.epoch, manifest.generation) != position:
        raise CorruptArtifactError(f"manifest {where} is of generation {manifest.generation}")
    return StoredManifest(position, body, manifest)


def stored_positions(store: ObjectStore) -> list[GenerationPosition]:
    """The generations that have a manifest, the newest first.

    Raises:
        TemporaryError: the store does not answer.
    """
    found = (GenerationPosition.of_path(one.path) for one in store.list(MANIFESTS))
    return sorted((position for position in found if position is not None), reverse=True)
