"""LanceDB's table as files: which files belong to its newest version, to link or to keep them.

A manifest (`manifest.proto`) names the files of one version: fragments name data and deletion files, an
index section the folders of indices. Lance renames a manifest into place once all its files are complete,
so a version read here is whole while `optimize` writes other files in another thread.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Final
from uuid import UUID

from google.protobuf.message import DecodeError  # type: ignore[import-untyped] # stubs are a namespace package

from helix_shared.artifacts.vectors.manifest_pb2 import DataFragment, DeletionFile, IndexSection, Manifest
from helix_shared.errors import CorruptArtifactError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TABLE: Final = "memories"
TABLE_FOLDER: Final = f"{TABLE}.lance"

_VERSIONS, _DATA, _DELETIONS, _INDICES, _TRANSACTIONS = (
    "_versions", "data", "_deletions", "_indices", "_transactions",
)  # fmt: skip
_DELETION_SUFFIXES: Final = {DeletionFile.ARROW_ARRAY: "arrow", DeletionFile.BITMAP: "bin"}
_UNREADABLE: Final = ("external_row_ids", "external_updated_at", "external_created_at", "overlays")
"""Fields of a fragment that name other files, which Lance declares and does not write."""

_MAGIC: Final = b"LANC"
_TRAILER_BYTES: Final = 16


def link_version(source: Path, target: Path) -> None:
    """Hard-link the newest version of the table in folder `source` into folder `target`.

    Files of a version are immutable. Transactions and the hint at the newest version are left out: a writer
    works without them.

    Raises:
        CorruptArtifactError: the manifest cannot be read, or a file of the version is missing.
    """
    manifest = newest_manifest(source)
    source, target = source / TABLE_FOLDER, target / TABLE_FOLDER
    for path in _files_of(source, manifest):
        linked = target / path.relative_to(source)
        linked.parent.mkdir(parents=True, exist_ok=True)
        try:
            linked.hardlink_to(path)
        except FileNotFoundError as error:
            raise CorruptArtifactError(f"version of the vector table lacks a file: {path}") from error


def remove_superseded(folder: Path) -> None:
    """Remove all files but those of the newest version of the table in `folder`.

    Call it while nothing writes; open handles must be at the newest version.

    Raises:
        CorruptArtifactError: the manifest cannot be read.
    """
    table = folder / TABLE_FOLDER
    kept = set(_files_of(table, newest_manifest(folder)))
    kept |= {path.parent for path in kept}
    for part in (_VERSIONS, _DATA, _DELETIONS, _INDICES, _TRANSACTIONS):
        for path in (table / part).glob("*"):
            if path.is_dir() and path not in kept:
                shutil.rmtree(path)
            elif path.is_file() and path not in kept and path.suffix != ".json":
                path.unlink()


def has_deletions(folder: Path) -> bool:
    """Tell whether data files of the newest version still hold rows that were deleted."""
    table = folder / TABLE_FOLDER
    return any(path.parent.name == _DELETIONS for path in _files_of(table, newest_manifest(folder)))


def newest_manifest(folder: Path) -> Path:
    """The manifest of the newest version of the table in `folder`.

    Raises:
        CorruptArtifactError: there is none.
    """
    # Names are 2^64 - 1 - version, padded, so the newest comes first.
    try:
        versions = (folder / TABLE_FOLDER / _VERSIONS).iterdir()
        return min(path for path in versions if path.suffix == ".manifest")
    except (OSError, ValueError) as error:
        raise CorruptArtifactError(f"folder has no vector table: {folder}") from error


def _files_of(table: Path, path: Path) -> list[Path]:
    """The manifest at `path` and the files it names."""
    try:
        body = memoryview(path.read_bytes())
        if bytes(body[-len(_MAGIC) :]) != _MAGIC:
            raise CorruptArtifactError(f"manifest of the vector table has another format: {path}")
        position = int.from_bytes(body[-_TRAILER_BYTES : -_TRAILER_BYTES + 8], "little")
        manifest, section = Manifest.FromString(_message_at(body, position)), IndexSection()
        if manifest.HasField("index_section"):
            section.ParseFromString(_message_at(body, manifest.index_section))
        files = [path]
        for fragment in manifest.fragments:
            files += _files_of_fragment(table, fragment)
        for index in section.indices:
            files += (table / _INDICES / str(UUID(bytes=index.uuid.uuid))).iterdir()
    except (DecodeError, KeyError, ValueError) as error:
        raise CorruptArtifactError(f"manifest of the vector table cannot be read: {path}") from error
    return files


def _files_of_fragment(table: Path, fragment: DataFragment) -> Iterator[Path]:
    if {field.name for field, _ in fragment.ListFields()}.intersection(_UNREADABLE):
        raise ValueError("fragment names files of a kind that is not linked")
    for file in fragment.files:
        yield table / _DATA / file.path
    if fragment.HasField("deletion_file"):
        deletion = fragment.deletion_file
        suffix = _DELETION_SUFFIXES[deletion.type]
        yield table / _DELETIONS / f"{fragment.id}-{deletion.read_version}-{deletion.id}.{suffix}"


def _message_at(body: memoryview, position: int) -> bytes:
    """The message at `position`, which its length in four bytes precedes."""
    size = int.from_bytes(body[position : position + 4], "little")
    if position + 4 + size > len(body) - _TRAILER_BYTES:
        raise ValueError(f"message at {position} does not fit its file")
    return bytes(body[position + 4 : position + 4 + size])
