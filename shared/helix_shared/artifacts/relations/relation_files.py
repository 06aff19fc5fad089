"""The decided relations of a generation: segments of records, and the names of evidence.

The writer appends with every publish; a reader maps the segments and scans two of their columns, which takes
milliseconds for millions of relations. Who asks for a history waits for that; no recall does.
"""

from __future__ import annotations

import functools
import io
import json
from typing import TYPE_CHECKING, Final

import numpy as np

from helix_shared.artifacts.files.mapped import mapped
from helix_shared.artifacts.files.saved import save_array
from helix_shared.artifacts.files.segment_files import SegmentFiles, oldest_first
from helix_shared.artifacts.relations.records import (
    DUPLICATE,
    RELATION,
    RELATION_KINDS,
    REVIVES,
    DecidedRelation,
    RelationKind,
    all_decoded,
    revoked_rows,
)
from helix_shared.errors import REBUILD, CorruptArtifactError

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from helix_shared.artifacts.files.segment_files import Merge

RELATIONS: Final = "relations"
"""Folder in a generation."""
NAMES_FILE: Final = "evidence.json"
"""Names of evidence, a JSON list."""
VOID_FILE: Final = "void.npy"
"""Rows of the relations that do not count, ascending: undone, or of memories that no longer hold."""


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
            save_array(merge.target, whole)
            return len(whole)

        self._segments.append(len(records), write)


class RelationReader:
    """The relations of one generation."""

    def __init__(
        self, segments: Sequence[NDArray[np.void]], names: Sequence[str], void: NDArray[np.int64]
    ) -> None:
        self._segments = segments
        self._names = names
        self._void = void

    @classmethod
    def open(cls, generation: Path) -> RelationReader:
        """The relations in the folder of a generation; none if it holds no file of them.

        Raises:
            CorruptArtifactError: a file cannot be read.
        """
        folder = generation / RELATIONS
        if not folder.is_dir():
            return cls((), (), np.zeros(0, np.int64))
        segments = [_load(path) for path in oldest_first(folder.glob("*.npy"))]
        return cls(segments, read_names(folder), _read_void(folder))

    @functools.cached_property
    def void_pairs(self) -> frozenset[tuple[int, int]]:
        """The newer and the older memory of each relation that does not count.

        A relation that was decided again is revoked first: what became of the later decision counts.
        """
        records = np.concatenate([np.zeros(0, RELATION), *self._segments])
        void = records[np.setdiff1d(self._void, revoked_rows(records))]
        return frozenset(zip(void["newer"].tolist(), void["older"].tolist(), strict=True))

    @functools.cached_property
    def restatements(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The newer and the older memory of each restatement that counts, by ascending newer ordinal.

        What holds again because it was said again is none: it says when, too.
        """
        found: list[NDArray[np.void]] = [np.zeros(0, RELATION)]
        counts: list[NDArray[np.bool_]] = [np.zeros(0, bool)]
        start = 0
        for segment in self._segments:
            restates = (segment["kind"] == DUPLICATE) & (segment["flags"] & REVIVES == 0)
            rows = np.flatnonzero(restates | (segment["probability"] == 0))
            found.append(segment[rows])
            counts.append(restates[rows] & ~np.isin(rows + start, self._void))
            start += len(segment)
        records, counting = np.concatenate(found), np.concatenate(counts)
        counting[revoked_rows(records)] = False
        newer, older = (records[name][counting].astype(np.int64) for name in ("newer", "older"))
        order = np.lexsort((older, newer))
        return newer[order], older[order]

    def of(
        self, ordinals: NDArray[np.int64], *, kinds: Collection[RelationKind] = RELATION_KINDS
    ) -> list[tuple[DecidedRelation, bool]]:
        """The relations of `kinds` from or to any of these, in order of decision, and whether they count."""
        found: list[NDArray[np.void]] = [np.zeros(0, RELATION)]
        counts: list[NDArray[np.bool_]] = [np.zeros(0, bool)]
        start = 0
        for segment in self._segments:
            chosen = np.isin(segment["newer"], ordinals) | np.isin(segment["older"], ordinals)
            rows = np.flatnonzero(chosen)
            found.append(segment[rows])
            counts.append(~np.isin(rows + start, self._void))
            start += len(segment)
        records = np.concatenate(found)
        wanted = np.isin(records["kind"], [RELATION_KINDS.index(kind) for kind in kinds])
        wanted[revoked_rows(records)] = False
        counting: list[bool] = np.concatenate(counts)[wanted].tolist()
        return list(zip(all_decoded(records[wanted], self._names), counting, strict=True))


def read_names(folder: Path) -> list[str]:
    """The names of evidence in a folder of relations.

    Raises:
        CorruptArtifactError: they cannot be read.
    """
    try:
        return [str(name) for name in json.loads((folder / NAMES_FILE).read_bytes())]
    except (OSError, ValueError, TypeError) as error:
        raise CorruptArtifactError(f"names of evidence cannot be read: {folder}") from error


def encoded_void(rows: NDArray[np.int64]) -> bytes:
    """Content of `VOID_FILE`."""
    buffer = io.BytesIO()
    np.save(buffer, rows)
    return buffer.getvalue()


def _read_void(folder: Path) -> NDArray[np.int64]:
    try:
        rows: NDArray[np.int64] = np.load(folder / VOID_FILE, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise CorruptArtifactError(f"relations that do not count cannot be read: {folder}") from error
    return rows


def _load(path: Path) -> NDArray[np.void]:
    try:
        rows: NDArray[np.void] = mapped(path)
    except (OSError, ValueError) as error:
        raise CorruptArtifactError(f"relations cannot be read: {path}") from error
    if rows.dtype != RELATION or rows.ndim != 1:
        raise CorruptArtifactError(f"relations are of another version: {path}; {REBUILD}")
    return rows
