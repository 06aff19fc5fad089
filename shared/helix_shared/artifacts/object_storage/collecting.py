"""Removes objects that no kept generation refers to; the writer of the newest generation runs it.

Kept are the generation of the pointer, the `keep` newest ones, and each one that was replaced less than
`grace_seconds` ago: a replica that began to pull it has this long to finish. A replica needs nothing here
once it has pulled. Parts that no kept manifest names go when they are older than `grace_seconds`; younger
ones may belong to an upload that is under way. All ages are by the clock of the store.

After an erasure all older generations go at once, and every part that no kept one names: an upload that was
interrupted may have left it. A replica that pulls one of them finds a part missing, and pulls the newest.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from helix_shared.artifacts.object_storage.layout import (
    CANARY,
    MANIFESTS,
    PARTS,
    GenerationPosition,
    part_path,
    sha256_of_bytes,
)
from helix_shared.artifacts.object_storage.remote import read_manifest, read_pointer
from helix_shared.errors import CorruptArtifactError, NotFoundError

if TYPE_CHECKING:
    from datetime import datetime

    from helix_shared.artifacts.object_storage.remote import StoredManifest
    from helix_shared.artifacts.object_storage.store import ListedObject, ObjectStore


@dataclass(frozen=True, slots=True)
class CollectionResult:
    """The result of one collection."""

    manifests: int
    parts: frozenset[str]
    """Checksums of the removed parts."""
    bytes: int
    """Of these."""
    oldest: int
    """Number of the oldest generation that is still there."""
    missing: tuple[str, ...]
    """Checksums of parts of the pointer's generation that are not there, or have another size."""


class Collector:
    """Collects at one address; used by one thread."""

    def __init__(self, store: ObjectStore, *, keep: int, grace_seconds: float) -> None:
        self._store = store
        self._keep = keep
        self._grace = timedelta(seconds=grace_seconds)
        self._manifests: dict[GenerationPosition, StoredManifest] = {}
        """Those that were kept before."""

    def collect(self, pointed: StoredManifest, *, erased_before: int = 0) -> CollectionResult | None:
        """Remove what is not kept; None if `pointed` is not what the pointer names any more.

        With `erased_before`, generations with a lower number and all parts without a generation go at once.

        Raises:
            CorruptArtifactError: the pointer is damaged.
            TemporaryError: the store does not answer.
        """
        found = read_pointer(self._store)
        if found is None or found[0].sha256 != sha256_of_bytes(pointed.body):
            return None
        listed = {GenerationPosition.of_path(one.path): one for one in self._store.list(MANIFESTS)}
        positions = {position: one for position, one in listed.items() if position is not None}
        now = self._now()
        kept = self._kept(pointed, positions, now, erased_before)
        dropped = positions.keys() - kept.keys()
        # a generation without a manifest is pulled by nobody, so its parts may go after it
        self._store.delete(position.path for position in dropped)
        marked = {sha256 for stored in kept.values() for sha256 in stored.sizes}
        parts = {one.path.rpartition("/")[2]: one for one in self._store.list(PARTS)}
        removed = [
            one
            for sha256, one in parts.items()
            if sha256 not in marked and (erased_before or now - one.modified >= self._grace)
        ]
        self._store.delete(one.path for one in removed)
        self._manifests = kept
        return CollectionResult(
            manifests=len(dropped),
            parts=frozenset(one.path.rpartition("/")[2] for one in removed),
            bytes=sum(one.size for one in removed),
            oldest=min(position.generation for position in kept),
            missing=tuple(
                sha256 for sha256, size in pointed.sizes.items() if not _is_whole(parts, sha256, size)
            ),
        )

    def _kept(
        self,
        pointed: StoredManifest,
        positions: dict[GenerationPosition, ListedObject],
        now: datetime,
        erased_before: int,
    ) -> dict[GenerationPosition, StoredManifest]:
        kept = {pointed.position: pointed}
        newest_first = sorted(positions, reverse=True)
        for place, position in enumerate(newest_first):
            replaced = positions[newest_first[place - 1]].modified if place else now
            is_recent = place < self._keep or now - replaced < self._grace
            if position.generation >= erased_before and is_recent and position not in kept:
                stored = self._read(position)
                if stored is not None:
                    kept[position] = stored
        return kept

    def _read(self, position: GenerationPosition) -> StoredManifest | None:
        """A manifest; None if nobody can read it, so that it goes."""
        if position in self._manifests:
            return self._manifests[position]
        try:
            return read_manifest(self._store, position)
        except (NotFoundError, CorruptArtifactError):
            return None

    def _now(self) -> datetime:
        """The time of the store: that of an object written now. Older ones beside it go."""
        path = f"{CANARY}/{uuid.uuid4().hex}"
        self._store.create(path, b"")
        listed = {one.path: one.modified for one in self._store.list(CANARY)}
        now = listed[path]
        self._store.delete(one for one, at in listed.items() if one == path or now - at >= self._grace)
        return now


def _is_whole(parts: dict[str, ListedObject], sha256: str, size: int) -> bool:
    part = parts.get(sha256)
    return part is not None and (part.path, part.size) == (part_path(sha256), size)
