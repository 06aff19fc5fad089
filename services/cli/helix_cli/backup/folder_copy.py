"""Files in a backup: the current generation and learned adapters of a data folder, and models."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Final

from helix_cli.backup.contents import FileCopy, ShardCopy
from helix_shared.artifacts.files.durability import sha256_of
from helix_shared.artifacts.files.held_folder import HeldFolder
from helix_shared.artifacts.generation.folders import GENERATIONS, current_number, folder_of
from helix_shared.artifacts.generation.manifest import MANIFEST_NAME, Manifest
from helix_shared.artifacts.learned_adapters import ADAPTERS, CARD, read_learned_card, tenants_with_cards
from helix_shared.encoders.store import list_models, model_folder
from helix_shared.errors import CorruptArtifactError, NotFoundError, TemporaryError

if TYPE_CHECKING:
    from pathlib import Path

    from helix_cli.backup.objects import Objects
    from helix_cli.backup.sealed import SealedObjects

ATTEMPTS: Final = 5


def copy_folder(data: Path, sealed: SealedObjects) -> ShardCopy:
    """Keep what the data folder of a shard has now.

    Raises:
        TemporaryError: a generation or an adapter was replaced meanwhile.
        CorruptArtifactError: a file is damaged.
    """
    manifest, files = _generation(data, sealed)
    return ShardCopy(
        generation=manifest.generation if manifest else 0,
        applied_sequence=manifest.applied_sequence if manifest else 0,
        epoch=manifest.epoch if manifest else 0,
        files=(*files, *_adapters(data, sealed)),
    )


def _generation(data: Path, sealed: SealedObjects) -> tuple[Manifest | None, list[FileCopy]]:
    """Keep the current generation; it may be retired meanwhile, so its files are opened first."""
    for _ in range(ATTEMPTS):
        number = current_number(data)
        if number is None:
            return None, []
        folder = folder_of(data, number)
        try:
            held = HeldFolder(folder, None)
        except (FileNotFoundError, CorruptArtifactError):
            continue
        with contextlib.closing(held):
            manifest = Manifest.read(held.path)
            path = f"{GENERATIONS}/{folder.name}"
            copies = [
                FileCopy(
                    path=f"{path}/{entry.path}",
                    size=entry.size,
                    sha256=entry.sha256,
                    pieces=sealed.put_file(held.path / entry.path, entry.sha256),
                )
                for entry in manifest.files
            ]
            copies.append(_sealed_file(held.path / MANIFEST_NAME, f"{path}/{MANIFEST_NAME}", sealed))
        return manifest, copies
    raise TemporaryError(f"generations of {data} were replaced faster than they were opened; try again")


def _adapters(data: Path, sealed: SealedObjects) -> list[FileCopy]:
    copies: list[FileCopy] = []
    for tenant in tenants_with_cards(data):
        with contextlib.suppress(NotFoundError):
            card = read_learned_card(data, tenant)
            try:
                copies += [
                    _sealed_file(data / ADAPTERS / tenant / name, f"{ADAPTERS}/{tenant}/{name}", sealed)
                    for name in (card.adapter_file, card.memories_file, CARD)
                ]
            except FileNotFoundError as error:
                raise TemporaryError(f"the adapter of {tenant} was replaced meanwhile; try again") from error
    return copies


def copy_models(models: Path, objects: Objects) -> list[FileCopy]:
    """Keep the files of all models, which are no secret."""
    copies = []
    for card in list_models(models):
        folder = model_folder(models, card.name)
        copies += [
            _file(path, f"{folder.name}/{path.relative_to(folder).as_posix()}", objects)
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        ]
    return copies


def _sealed_file(path: Path, name: str, sealed: SealedObjects) -> FileCopy:
    digest, size = sha256_of(path), path.stat().st_size
    return FileCopy(path=name, size=size, sha256=digest, pieces=sealed.put_file(path, digest))


def _file(path: Path, name: str, objects: Objects) -> FileCopy:
    digest, size = sha256_of(path), path.stat().st_size
    objects.put_file(path, digest, size)
    return FileCopy(path=name, size=size, sha256=digest)
