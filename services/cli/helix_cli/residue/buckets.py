"""Residue in object storage, below the addresses to which the shards of a home upload their generations.

Every generation that has a manifest there is downloaded and searched as those of a home are, since engines
hide the content of their files. Parts that no manifest names are searched as bytes.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from helix_cli.residue.files import residue_in_files
from helix_cli.residue.found import Residue
from helix_shared.artifacts.object_storage.layout import PARTS, part_path
from helix_shared.artifacts.object_storage.opening import open_store
from helix_shared.artifacts.object_storage.record import UploadRecord
from helix_shared.artifacts.object_storage.remote import read_manifest, stored_positions
from helix_shared.errors import HelixError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from helix_cli.residue.canaries import Canaries
    from helix_memory.transport.credentials import NatsCredentials
    from helix_shared.artifacts.object_storage.store import ObjectStore


def buckets_of(folders: Iterable[Path]) -> list[str]:
    """The addresses to which data folders upload their generations."""
    return list(filter(None, (UploadRecord.read(folder).url for folder in folders)))


def residue_in_buckets(
    addresses: Iterable[str], canaries: Canaries, *, credentials: NatsCredentials | None
) -> Residue:
    """How often something is found, by place below each address; `credentials` are those for NATS.

    A bucket that cannot be read, or of which a part is missing, is named as unread.
    """
    found = Residue()
    for address in addresses:
        try:
            store = open_store(address, credentials=credentials)
            try:
                found += _in_bucket(store, canaries)
            finally:
                store.close()
        except (HelixError, OSError) as error:
            found += Residue(unread={address: str(error)})
    return found


def _in_bucket(store: ObjectStore, canaries: Canaries) -> Residue:
    with tempfile.TemporaryDirectory(prefix="helix-residue-") as folder:
        root = Path(folder)
        unread = _download(store, root)
        inside = residue_in_files(root, canaries)
    counts = Counter({f"{store.url}/{place}": count for place, count in inside.counts.items()})
    return Residue(counts, unread | {f"{store.url}/{place}": why for place, why in inside.unread.items()})


def _download(store: ObjectStore, root: Path) -> dict[str, str]:
    """Every part, once, at its place in the generations that name it; returns what could not be read."""
    here, unread = dict[str, Path](), dict[str, str]()
    for position in stored_positions(store):
        try:
            files = read_manifest(store, position).manifest.files
        except HelixError as error:
            # the writer may have removed it meanwhile; then the next search does not find it
            unread[f"{store.url}/{position.path}"] = str(error)
            continue
        for entry in files:
            path = part_path(entry.sha256)
            # writers of two epochs may have uploaded generations of one number
            folder = root / f"{position.epoch}-{position.generation}"
            _take(store, path, entry.size, folder / entry.path, here, unread)
    for part in list(store.list(PARTS)):
        if part.path not in here:
            _take(store, part.path, part.size, root / part.path, here, unread)
    return unread


def _take(
    store: ObjectStore, path: str, size: int, target: Path, here: dict[str, Path], unread: dict[str, str]
) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if path in here:
        target.hardlink_to(here[path])
        return
    try:
        store.download(path, target, size=size)
        here[path] = target
    except HelixError as error:
        unread[f"{store.url}/{path}"] = str(error)
