"""LanceDB's table as files: which of them are its newest version, to be linked or to be kept.

A manifest names the files of one version (protobuf, `protos/table.proto` of Lance): fragments name
their data and deletions, an index section the folders of indices. Lance renames a manifest into
place when all it names is complete, so what is read here is whole even while `optimize` is at work
in another thread, whose unfinished files lie beside. `vectors` calls this; nothing else looks inside.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Final
from uuid import UUID

from helix_shared.errors import CorruptArtifactError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TABLE: Final = "memories"
TABLE_FOLDER: Final = f"{TABLE}.lance"

_VERSIONS, _DATA, _DELETIONS, _INDICES, _TRANSACTIONS = (
    "_versions", "data", "_deletions", "_indices", "_transactions",
)  # fmt: skip
_DELETION_SUFFIXES: Final = ("arrow", "bin")

# Field numbers of protos/table.proto: messages Manifest, DataFragment, DataFile, DeletionFile,
# IndexSection, IndexMetadata and UUID.
_FRAGMENTS, _INDEX_SECTION = 2, 6
_FRAGMENT_ID, _FILES, _DELETION = 1, 2, 3
_PATH = 1
_KIND, _READ_VERSION, _DELETION_ID = 1, 2, 3
_INDEX_METADATA = _UUID = _UUID_BYTES = 1
_EXTERNAL: Final = (6, 8, 10)
"""Row ids and versions of a fragment in files of their own, which Lance declares and does not write."""

_MAGIC: Final = b"LANC"
_TRAILER_BYTES: Final = 16
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


def link_version(source: Path, target: Path) -> None:
    """Hard-link the newest version of the table in folder `source` into folder `target`.

    Every file of a version is immutable. Transactions and the hint at the newest version are left out:
    they only save a writer work.

    Raises:
        CorruptArtifactError: the version cannot be told or lacks a file.
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

    Nothing writes meanwhile, and whoever has the table open has opened its newest version.

    Raises:
        CorruptArtifactError: the version cannot be told.
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


def _files_of(table: Path, manifest: Path) -> list[Path]:
    """The manifest and all it names."""
    try:
        body = memoryview(manifest.read_bytes())
        if bytes(body[-len(_MAGIC) :]) != _MAGIC:
            raise CorruptArtifactError(f"manifest of the vector table has another format: {manifest}")
        position = int.from_bytes(body[-_TRAILER_BYTES : -_TRAILER_BYTES + 8], "little")
        fields = list(_fields(_message_at(body, position)))
        files = [manifest]
        for number, value in fields:
            if number == _FRAGMENTS:
                files += _files_of_fragment(table, list(_fields(_bytes(value))))
            elif number == _INDEX_SECTION:
                section = _message_at(body, _int(value))
                for _, index in _fields(section):
                    files += _files_of_index(table, _bytes(index))
    except (IndexError, KeyError, ValueError) as error:
        raise CorruptArtifactError(f"manifest of the vector table cannot be read: {manifest}") from error
    return files


def _files_of_fragment(table: Path, fields: list[tuple[int, int | memoryview]]) -> Iterator[Path]:
    known = dict(fields)
    if any(number in known for number in _EXTERNAL):
        raise ValueError("fragment keeps row ids in a file of their own")
    for number, value in fields:
        if number == _FILES:
            yield table / _DATA / str(_bytes(dict(_fields(_bytes(value)))[_PATH]), "utf-8")
    if _DELETION in known:
        # Numbers that are zero are not written.
        deletion = dict(_fields(_bytes(known[_DELETION])))
        parts = (known.get(_FRAGMENT_ID, 0), deletion.get(_READ_VERSION, 0), deletion.get(_DELETION_ID, 0))
        suffix = _DELETION_SUFFIXES[_int(deletion.get(_KIND, 0))]
        yield table / _DELETIONS / f"{'-'.join(map(str, parts))}.{suffix}"


def _files_of_index(table: Path, metadata: memoryview) -> Iterator[Path]:
    uuid = _bytes(dict(_fields(_bytes(dict(_fields(metadata))[_UUID])))[_UUID_BYTES])
    return (table / _INDICES / str(UUID(bytes=bytes(uuid)))).iterdir()


def _message_at(body: memoryview, position: int) -> memoryview:
    size = int.from_bytes(body[position : position + 4], "little")
    if position + 4 + size > len(body) - _TRAILER_BYTES:
        raise ValueError(f"message at {position} does not fit its file")
    return body[position + 4 : position + 4 + size]


def _fields(message: memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Numbers and values of a protobuf message, in order; what has a length is not looked into."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        kind = key & 7
        if kind == _VARINT:
            value, at = _varint(message, at)
            yield key >> 3, value
            continue
        size = {_FIXED64: 8, _FIXED32: 4}.get(kind)
        if kind == _BYTES:
            size, at = _varint(message, at)
        if size is None or at + size > len(message):
            raise ValueError(f"field {key >> 3} of wire type {kind} does not fit its message")
        yield key >> 3, message[at : at + size]
        at += size


def _varint(message: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:  # noqa: PLR2004 - the bit that says another byte follows
            return value, at


def _int(value: int | memoryview) -> int:
    if not isinstance(value, int):
        raise ValueError("number expected")  # noqa: TRY004 - a malformed file, not a mistake of the caller
    return value


def _bytes(value: int | memoryview) -> memoryview:
    if isinstance(value, int):
        raise ValueError("bytes expected")  # noqa: TRY004 - a malformed file, not a mistake of the caller
    return value
