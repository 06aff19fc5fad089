"""The writer of the signals: appends segments and merges them, so that there are few.

One thread of one process writes; large merges run in a background thread.
"""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np

from helix_shared.artifacts.files.background_task import BackgroundTask
from helix_shared.artifacts.files.durability import sync_and_hash_folder
from helix_shared.artifacts.files.segment_files import PREFIX
from helix_shared.artifacts.signals.columns import COLUMNS, RECORD, TOKEN_CODES, blank
from helix_shared.artifacts.signals.record_file import ERASED
from helix_shared.artifacts.signals.segments import (
    Segment,
    merge_segments,
    open_segments,
    ordinal_count,
    write_segment,
)
from helix_shared.artifacts.signals.token_codes import NO_CODES
from helix_shared.artifacts.signals.vector_storage import (
    Storage,
    StorageChoice,
    dimensions_of,
    is_narrower,
    storage_for,
)
from helix_shared.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

MERGED_TOGETHER: Final = 24
"""So many neighbouring segments of one class of size, or below it, are merged into one.

The next class begins at this many times as many rows. So a row is rewritten, and uploaded again, once for a
class, and at most one fewer than this many segments of each class are left for a recall to look into.
"""

MOST_FOREGROUND_ROWS: Final = 20_000
"""Larger merges run in the background: 2 KB a row are read, written, hashed and synced."""


class SignalsWriter:
    """Writes the live segments in a folder; used by one thread of one process."""

    def __init__(self, folder: Path, segments: list[Segment], storage: StorageChoice) -> None:
        self._folder = folder
        self._segments = segments
        self._storage = storage
        self._last_number = segments[-1].number if segments else 0
        self._merging: BackgroundTask[tuple[Segment, dict[str, str]]] = BackgroundTask()
        self._merging_from = self._merging_to = 0
        """Segments in this range are being merged in the background; those before it do not change."""
        self._checksums: dict[str, str] = {}

    @classmethod
    def open(cls, folder: Path, *, storage: StorageChoice = "auto") -> Self:
        """Open the segments in `folder`, which may be new; vectors are stored in the form `storage`.

        If a segment keeps more digits than that, all segments are rewritten at once.

        Raises:
            CorruptArtifactError: a segment is incomplete.
            InvalidInputError: a segment keeps fewer digits than `storage` asks for.
        """
        folder.mkdir(parents=True, exist_ok=True)
        writer = cls(folder, open_segments(folder), storage)
        writer._convert()
        return writer

    @property
    def segments(self) -> Sequence[Segment]:
        """The segments, oldest first."""
        return self._segments

    @property
    def count(self) -> int:
        """One more than the highest ordinal."""
        return ordinal_count(self._segments)

    def append(self, ordinals: NDArray[np.int64], columns: Mapping[str, NDArray[np.generic]]) -> None:
        """Add or replace rows, one for each ordinal; `columns` holds `COLUMNS`, `RECORD` and `TOKEN_CODES`.

        Raises:
            InvalidInputError: a column is missing or has another number of rows.
        """
        for name in (*COLUMNS, RECORD, TOKEN_CODES):
            if name not in columns or len(columns[name]) != len(ordinals):
                raise InvalidInputError(name, f"must have {len(ordinals)} rows")
        if len(ordinals):
            self.finish_merge()
            self._write(ordinals, columns)
            self._merge(self._merge_start())

    def token_codes(self, ordinals: NDArray[np.int64]) -> list[bytes]:
        """The codes of each of `ordinals`; empty for one without a row."""
        found = [NO_CODES] * len(ordinals)
        for segment in self._segments:
            # a later segment counts over an earlier one
            rows = np.searchsorted(segment.ordinals, ordinals)
            here = np.flatnonzero(segment.ordinals[np.minimum(rows, len(segment) - 1)] == ordinals)
            for place in here.tolist():
                found[place] = segment.codes.of_row(int(rows[place])).tobytes()
        return found

    def erase(self, ordinals: NDArray[np.int64]) -> None:
        """Replace rows by blank ones; their bytes stay until the next `compact`, which costs a whole copy."""
        if not len(ordinals) or not self._segments:
            return
        shapes = {name: self._segments[0].columns[name].shape[1:] for name in COLUMNS}
        shapes["vector"] = (dimensions_of(self._segments[0].columns["vector"]),)
        blanks = {name: blank(name, (len(ordinals), *shapes[name])) for name in COLUMNS}
        blanks[RECORD] = np.full(len(ordinals), ERASED, object)
        blanks[TOKEN_CODES] = np.full(len(ordinals), NO_CODES, object)
        self.finish_merge()
        self._write(ordinals, blanks)
        self._merge(self._merge_start())

    def compact(self) -> None:
        """Rewrite all segments as one, so that no byte of replaced rows remains."""
        self.finish_merge(wait=True)
        if len(self._segments) > 1:
            self._rewrite(0)

    def finish_merge(self, *, wait: bool = False) -> None:
        """Use the segment that was merged in the background, if it is finished; `wait` waits for it."""
        done = self._merging.collect(wait=wait)
        if done is not None:
            merged, sums = done
            self._checksums |= sums
            self._replace(self._merging_from, self._merging_to, merged)
            self._merging_to = 0

    def take_checksums(self) -> dict[str, str]:
        """Checksums of files that background merges synced, since the last call."""
        checksums, self._checksums = self._checksums, {}
        return checksums

    def link_into(self, folder: Path) -> None:
        """Hard-link all segments into the new folder `folder`."""
        folder.mkdir(parents=True)
        for segment in self._segments:
            shutil.copytree(segment.folder, folder / segment.folder.name, copy_function=os.link)

    def _write(self, ordinals: NDArray[np.int64], columns: Mapping[str, NDArray[Any]]) -> None:
        storage = storage_for(self._storage, rows=len(ordinals))
        self._segments.append(write_segment(self._next_folder(), ordinals, columns, storage=storage))

    def _next_folder(self) -> Path:
        self._last_number += 1
        return self._folder / f"{PREFIX}{self._last_number:06d}"

    def _merge_start(self) -> int:
        # the first segment of the run that is merged into one
        sizes = [len(segment) for segment in self._segments]
        start, size = len(sizes) - 1, sizes[-1]
        while True:
            first, size_class = start, _size_class(size)
            while first > self._merging_to and _size_class(sizes[first - 1]) <= size_class:
                first -= 1
            # what is merged already counts as one
            if start - first + 1 < MERGED_TOGETHER:
                return start
            start, size = first, sum(sizes[first:])

    def _merge(self, start: int) -> None:
        merged = self._segments[start:]
        if len(merged) < 2:  # noqa: PLR2004 - a single segment needs no merge
            return
        if sum(map(len, merged)) <= MOST_FOREGROUND_ROWS or self._merging_to:
            self._rewrite(start)
            return
        # segments appended meanwhile have higher numbers, so their rows still count over the merged ones
        folder, storage = self._next_folder(), self._storage_of(merged)
        self._merging_from, self._merging_to = start, len(self._segments)
        self._merging.start(
            lambda: (merge_segments(folder, merged, storage=storage), sync_and_hash_folder(folder))
        )

    def _rewrite(self, start: int) -> None:
        old = self._segments[start:]
        merged = merge_segments(self._next_folder(), old, storage=self._storage_of(old))
        self._replace(start, len(self._segments), merged)

    def _storage_of(self, merged: Sequence[Segment]) -> Storage:
        rows, sources = sum(map(len, merged)), (segment.storage for segment in merged)
        return storage_for(self._storage, rows=rows, sources=sources)

    def _replace(self, start: int, end: int, merged: Segment) -> None:
        old, self._segments[start:end] = self._segments[start:end], [merged]
        for segment in old:
            shutil.rmtree(segment.folder)

    def _convert(self) -> None:
        wanted = [storage_for(self._storage, rows=len(segment)) for segment in self._segments]
        pairs = [(segment.storage, storage) for segment, storage in zip(self._segments, wanted, strict=True)]
        lost = next((pair for pair in pairs if is_narrower(*pair)), None)
        if lost is not None and self._storage != "auto":
            raise InvalidInputError(
                "vector_storage",
                f"is {lost[1]}, but the store holds {lost[0]}, which has fewer digits: "
                f"set it to {lost[0]} or auto, or build the store anew from the event stream",
            )
        if any(is_narrower(storage, held) for held, storage in pairs):
            self._rewrite(0)


def _size_class(rows: int) -> int:
    found = 0
    while rows >= MERGED_TOGETHER:
        rows //= MERGED_TOGETHER
        found += 1
    return found
