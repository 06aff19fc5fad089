"""The decided relations of a generation: segments of records, and the names of evidence.

The writer appends with every publish; a reader maps the segments and scans two of their columns, which takes
milliseconds for millions of relations. Who asks for a history waits for that; no recall does.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import numpy as np

from helix_shared.artifacts.files.segment_files import SegmentFiles
from helix_shared.artifacts.relations.records import RELATION, DecidedRelation, decoded
from helix_shared.errors import CorruptArtifactError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from helix_shared.artifacts.files.segment_files import Merge

RELATIONS: Final = "relations"
"""Folder in a generation; `RELATIONS/evidence.json` has the names."""
NAMES_FILE: Final = "evidence.json"


class RelationFiles:
    """The writer's segments in a folder, which may be new; one thread of one process writes.

    Raises:
        CorruptArtifactError: a segment cannot be read.
    """

    def __init__(self, folder: Path) -> None:
        self._segments = SegmentFiles(folder, ".npy", lambda path: len(_load(path)))

    @property
    def files(self) -> list[Path]:
        """The segments, oldest first; the files never change."""
        return self._segments.files

    def records(self) -> NDArray[np.void]:
        """All records, oldest first."""
        return np.concatenate([np.zeros(0, RELATION), *map(_load, self.files)])

    def append(self, records: NDArray[np.void]) -> None:
        """Write records as a new segment."""
        if not len(records):
            return

        def write(merge: Merge) -> int:
            whole = np.concatenate([*map(_load, merge.segments), records])
            with merge.target.open("wb") as file:
                np.save(file, whole)
            return len(whole)

        self._segments.append(len(records), write)


class RelationReader:
    """The relations of one generation."""

    def __init__(self, segments: Sequence[NDArray[np.void]], names: Sequence[str]) -> None:
        self._segments = segments
        self._names = names

    @classmethod
    def open(cls, generation: Path) -> RelationReader:
        """The relations in the folder of a generation; none if it holds no file of them.

        Raises:
            CorruptArtifactError: a file cannot be read.
        """
        folder = generation / RELATIONS
        if not folder.is_dir():
            return cls((), ())
        return cls([_load(path) for path in sorted(folder.glob("seg-*.npy"))], read_names(folder))

    def of(self, ordinals: NDArray[np.int64]) -> list[DecidedRelation]:
        """The relations from or to any of these memories, in the order of decision."""
        found = []
        for segment in self._segments:
            chosen = np.isin(segment["newer"], ordinals) | np.isin(segment["older"], ordinals)
            found += [decoded(segment[row], self._names) for row in np.flatnonzero(chosen)]
        return found


def read_names(folder: Path) -> list[str]:
    """The names of evidence in a folder of relations.

    Raises:
        CorruptArtifactError: they cannot be read.
    """
    try:
        return [str(name) for name in json.loads((folder / NAMES_FILE).read_bytes())]
    except (OSError, ValueError, TypeError) as error:
        raise CorruptArtifactError(f"names of evidence cannot be read: {folder}") from error


def _load(path: Path) -> NDArray[np.void]:
    try:
        rows: NDArray[np.void] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise CorruptArtifactError(f"relations cannot be read: {path}") from error
    if rows.dtype != RELATION or rows.ndim != 1:
        raise CorruptArtifactError(f"relations are of another version: {path}; rebuild, or upgrade")
    return rows
