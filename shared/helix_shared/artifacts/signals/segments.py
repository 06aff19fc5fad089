"""One immutable segment of the signals: a folder of files with one row per ordinal, ascending.

`scalars` holds the ordinal and all scalar columns in one file, since every file of a generation costs a sync.
`vector` (see `vector_storage`), `minhash` and `sketch` are files of their own that stay mapped, beside the
records and the token codes. A segment is written to a temporary folder and renamed. `writer` decides when
segments are merged.
"""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from helix_shared.artifacts.files.mapped import mapped
from helix_shared.artifacts.files.saved import save_array, write_header, write_values
from helix_shared.artifacts.files.segment_files import PREFIX, oldest_first
from helix_shared.artifacts.signals.columns import CODE_COUNT, MATRICES, RECORD, SCALARS, TOKEN_CODES
from helix_shared.artifacts.signals.gathering import as_stored, gather
from helix_shared.artifacts.signals.record_file import (
    RecordFile,
    open_records,
    write_gathered_records,
    write_records,
)
from helix_shared.artifacts.signals.token_codes import (
    CodeFile,
    open_codes,
    write_codes,
    write_gathered_codes,
)
from helix_shared.artifacts.signals.vector_storage import Storage, packed, storage_of, unpacked
from helix_shared.errors import CorruptArtifactError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

_SCALARS: Final = "scalars"
_FILES: Final = (_SCALARS, *MATRICES)
_ROW: Final = np.dtype([("ordinal", np.int64), *SCALARS.items()])
_CHUNK_ROWS: Final = 16_384


@dataclass(frozen=True, slots=True)
class Segment:
    """A mapped segment; `identity` is equal for folders that hold the same files."""

    folder: Path
    identity: tuple[str, int, int, int] | None
    ordinals: NDArray[np.int64]
    columns: Mapping[str, NDArray[np.generic]]
    scalars: NDArray[Any]
    records: RecordFile
    codes: CodeFile
    storage: Storage

    def __len__(self) -> int:
        return len(self.ordinals)

    @property
    def number(self) -> int:
        """Its place in the order of segments: of an ordinal in several, the highest number counts."""
        return int(self.folder.name.removeprefix(PREFIX))


def open_segments(folder: Path, *, previous: Sequence[Segment] = ()) -> list[Segment]:
    """Map all segments of a folder, oldest first; those of `previous` are not mapped again.

    Raises:
        CorruptArtifactError: a segment is incomplete.
    """
    by_identity = {segment.identity: segment for segment in previous}
    found = [path for path in oldest_first(folder.iterdir()) if path.is_dir()]
    return [by_identity.get(_identity(path)) or open_segment(path) for path in found]


def ordinal_count(segments: Sequence[Segment]) -> int:
    """One more than the highest ordinal."""
    return max((int(segment.ordinals[-1]) + 1 for segment in segments if len(segment)), default=0)


def open_segment(folder: Path) -> Segment:
    """Map one segment.

    Raises:
        CorruptArtifactError: a file is missing or the files do not fit together.
    """
    try:
        arrays: dict[str, NDArray[Any]] = {name: mapped(folder / f"{name}.npy") for name in _FILES}
        identity = _identity(folder)
        records = open_records(folder)
        scalars = arrays.pop(_SCALARS)
        codes = open_codes(folder, scalars[CODE_COUNT])
    except (OSError, ValueError) as error:
        raise CorruptArtifactError(f"signals segment cannot be read: {folder}") from error
    if scalars.dtype != _ROW or {len(scalars)} != {len(records), *map(len, arrays.values())}:
        raise CorruptArtifactError(f"signals segment has files that do not fit together: {folder}")
    columns = {name: scalars[name] for name in SCALARS} | arrays
    storage = storage_of(arrays["vector"])
    if storage is None:
        raise CorruptArtifactError(f"signals segment has vectors in an unknown form: {folder}")
    ordinals = np.ascontiguousarray(scalars["ordinal"])
    return Segment(folder, identity, ordinals, columns, scalars, records, codes, storage)


def _identity(folder: Path) -> tuple[str, int, int, int] | None:
    """Identity of a segment, by one of its files, since all appear together; None without files."""
    try:
        status = (folder / f"{_SCALARS}.npy").stat()
    except FileNotFoundError:
        return None
    return folder.name, status.st_dev, status.st_ino, status.st_mtime_ns


def write_segment(
    folder: Path,
    ordinals: NDArray[np.int64],
    columns: Mapping[str, NDArray[np.generic]],
    *,
    storage: Storage,
) -> Segment:
    """Write a segment; of an ordinal that occurs twice, the last row counts."""
    kept, rows = last_rows(ordinals)
    scalars = np.empty(len(kept), dtype=_ROW)
    scalars["ordinal"] = kept
    for name in SCALARS:
        scalars[name] = columns[name][rows]
    with _renamed_when_done(folder) as staging:
        save_array(staging / f"{_SCALARS}.npy", scalars)
        for name, dtype in MATRICES.items():
            matrix = np.asarray(columns[name][rows], dtype=dtype)
            save_array(staging / f"{name}.npy", packed(matrix, storage) if name == "vector" else matrix)
        write_records(staging, columns[RECORD][rows].tolist())
        write_codes(staging, columns[TOKEN_CODES][rows].tolist())
    return open_segment(folder)


def merge_segments(folder: Path, segments: Sequence[Segment], *, storage: Storage) -> Segment:
    """Write the rows of `segments` as one segment; of an ordinal in several, the last segment counts.

    Vectors are converted to `storage`.
    """
    _, rows = last_rows(np.concatenate([segment.ordinals for segment in segments]))
    starts = np.cumsum([0, *(len(segment) for segment in segments)])
    with _renamed_when_done(folder) as staging:
        _write_gathered(staging / f"{_SCALARS}.npy", [segment.scalars for segment in segments], starts, rows)
        for name in MATRICES:
            sources = [segment.columns[name] for segment in segments]
            converted = name == "vector" and any(segment.storage != storage for segment in segments)
            _write_gathered(
                staging / f"{name}.npy",
                sources,
                starts,
                rows,
                read=(lambda picked: packed(unpacked(picked), storage)) if converted else as_stored,
            )
        write_gathered_records(staging, [segment.records for segment in segments], starts, rows)
        write_gathered_codes(staging, [segment.codes for segment in segments], starts, rows)
    return open_segment(folder)


def _write_gathered(
    path: Path,
    sources: Sequence[NDArray[Any]],
    starts: NDArray[np.int64],
    rows: NDArray[np.int64],
    *,
    read: Callable[[NDArray[Any]], NDArray[Any]] = as_stored,
) -> None:
    """Write the gathered rows in chunks, since a merged matrix may be larger than the memory."""
    first = read(sources[0][:0])
    with path.open("wb") as target:
        write_header(target, first.dtype, (len(rows), *first.shape[1:]))
        for start in range(0, len(rows), _CHUNK_ROWS):
            write_values(target, gather(sources, starts, rows[start : start + _CHUNK_ROWS], read=read))


@contextmanager
def _renamed_when_done(folder: Path) -> Iterator[Path]:
    staging = folder.with_name(f".new-{folder.name}")
    shutil.rmtree(staging, ignore_errors=True)
    staging.mkdir(parents=True)
    yield staging
    staging.rename(folder)


def last_rows(ordinals: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Distinct ordinals, ascending, and the last row of each."""
    unique, first_from_end = np.unique(ordinals[::-1], return_index=True)
    return unique, len(ordinals) - 1 - first_from_end
