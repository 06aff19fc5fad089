"""The folder in which memories are made again: `<data>/rebuilding`, stores with generations of their own.

Whoever works there holds its lock. A generation of it is a checkpoint: after a kill the work continues from
the last one, if it is for the same model and rules. The folder goes when its stores were handed over.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from helix_consolidation.delivery.abandoned import clear_workspace
from helix_consolidation.delivery.leading.lease import FolderLock
from helix_consolidation.settings import ConsolidationSettings
from helix_consolidation.stores.anew import WORKSPACE
from helix_consolidation.stores.shard import Shard
from helix_consolidation.usage.decay import decay_rule
from helix_shared.errors import CorruptArtifactError, PermanentError
from helix_shared.shard_map import ShardPlace

KEY_FILE: Final = "key.json"


def workspace_of(data: Path) -> Path:
    """The folder below a data folder, whether it exists or not."""
    return data / WORKSPACE


@contextlib.contextmanager
def owned(folder: Path) -> Iterator[None]:
    """Hold the lock of the folder.

    Raises:
        PermanentError: another process works there.
    """
    lock = FolderLock(folder)
    if not lock.acquire():
        raise PermanentError(
            f"another `helix rebuild` or `helix models use` works in {folder}: wait for it, or end it"
        )
    try:
        yield
    finally:
        lock.release()


def discard(folder: Path) -> None:
    """Remove what is in the folder, if it exists and nobody works there."""
    if not folder.is_dir():
        return
    lock = FolderLock(folder)
    if lock.acquire():
        try:
            clear_workspace(folder)
        finally:
            lock.release()


def open_shard(
    folder: Path, key: dict[str, str], settings: ConsolidationSettings, place: ShardPlace
) -> tuple[Shard, bool]:
    """The stores as of the last checkpoint, and whether there was one; those of another `key` are removed.

    They take the events of the tenants of `place`.

    The caller holds the lock.

    Raises:
        InvalidInputError: the stored vectors are in a form that the settings do not allow.
    """
    path = folder / KEY_FILE
    try:
        same = json.loads(path.read_text(encoding="utf-8")) == key
    except (OSError, ValueError):
        same = False
    if same:
        try:
            shard = _opened(folder, settings, place)
        except CorruptArtifactError:
            same = False
        else:
            return shard, shard.manifest is not None
    clear_workspace(folder)
    path.write_text(json.dumps(key, indent=1), encoding="utf-8")
    return _opened(folder, settings, place), False


def _opened(folder: Path, settings: ConsolidationSettings, place: ShardPlace) -> Shard:
    return Shard.open(
        folder,
        maintain_every=settings.maintain_every,
        form=settings.vector_form,
        decay=decay_rule(settings),
        place=place,
    )
