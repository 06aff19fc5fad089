"""Repairs object storage: writes a lost or damaged manifest, or the pointer to it, again.

The writer has the content of both. What replicas read is in `remote`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from helix_shared.artifacts.object_storage.layout import POINTER, Pointer
from helix_shared.artifacts.object_storage.remote import read_manifest
from helix_shared.artifacts.object_storage.store import ConflictError
from helix_shared.errors import CorruptArtifactError, NotFoundError, PermanentError

if TYPE_CHECKING:
    from helix_shared.artifacts.object_storage.remote import StoredManifest
    from helix_shared.artifacts.object_storage.store import ObjectStore, ObjectVersion


def pointer_to_replace(store: ObjectStore) -> tuple[Pointer | None, ObjectVersion | None]:
    """The pointer and its version; without a version it is missing, without a pointer it is damaged.

    Raises:
        CorruptArtifactError: the store lost a part of it.
        TemporaryError: the store does not answer.
    """
    try:
        found = store.read(POINTER)
    except NotFoundError:
        return None, None
    if found is None:
        return None, None
    try:
        return Pointer.parse(found.body), found.version
    except CorruptArtifactError:
        return None, found.version


def has_manifest(store: ObjectStore, stored: StoredManifest) -> bool:
    """Whether the manifest of a generation is there, byte for byte.

    Raises:
        TemporaryError: the store does not answer.
    """
    try:
        return read_manifest(store, stored.position).body == stored.body
    except (NotFoundError, CorruptArtifactError):
        return False


def put_manifest(store: ObjectStore, stored: StoredManifest) -> None:
    """Write the manifest of a generation, unless it is there; in place of one that nobody can read.

    Raises:
        PermanentError: there is another one.
        TemporaryError: the store does not answer.
    """
    path = stored.position.path
    try:
        store.create(path, stored.body)
    except ConflictError as error:
        # of an upload that was interrupted before the pointer, or damaged since
        try:
            found = read_manifest(store, stored.position)
        except CorruptArtifactError:
            store.delete([path])
            store.create(path, stored.body)
            return
        if found.body != stored.body:
            raise PermanentError(
                f"{store.url} has another manifest of epoch {stored.position.epoch} and generation "
                f"{stored.position.generation}; nothing is uploaded"
            ) from error
