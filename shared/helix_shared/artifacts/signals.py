"""The signals: fixed-width columns by ordinal, mapped into memory; writer and reader.

Everything ranking needs of a candidate without asking a store: times, scores, codes as flat arrays,
vectors and MinHash signatures gathered from memory-mapped files. Stored as immutable segments in
which the later row wins; merged geometrically, so that there are few and appending stays cheap.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np

from helix_shared.artifacts.errand import Errand
from helix_shared.artifacts.growing import Growing
from helix_shared.artifacts.integrity import settled
from helix_shared.artifacts.lines import ERASED
from helix_shared.artifacts.members import Members
from helix_shared.artifacts.segments import (
    PREFIX,
    Segment,
    gather,
    last_rows,
    merge_segments,
    open_segments,
    ordinal_count,
    write_segment,
)
from helix_shared.artifacts.signal_columns import (
    COLUMNS,
    HELD,
    LINE,
    MEMORY_TYPES,
    NO_TIME,
    SKETCH,
    TIMES,
    code,
    signals_of,
)
from helix_shared.artifacts.sketches import nearest_sketches, sketches_of
from helix_shared.artifacts.vector_storage import (
    Storage,
    StorageChoice,
    dimensions_of,
    dot_products,
    is_narrower,
    storage_for,
    unpacked,
)
from helix_shared.errors import CorruptArtifactError, InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import DTypeLike, NDArray

__all__ = ["MEMORY_TYPES", "NO_TIME", "Signals", "SignalsWriter", "code", "signals_of"]

MERGE_RATIO: Final = 3
"""Neighbouring segments are merged until each is this many times the next: log3(10^6) is about 12."""

MERGED_AT_ONCE: Final = 20_000
"""Merges of more rows run beside the writer: 2 KB a row are read, written, hashed and synced."""

_HOLE: Final = -1


class SignalsWriter:
    """Writes the live segments in a folder; exactly one process and one thread at a time."""

    def __init__(self, folder: Path, segments: list[Segment], storage: StorageChoice) -> None:
        self._folder = folder
        self._segments = segments
        self._storage = storage
        self._last_number = segments[-1].number if segments else 0
        self._merging: Errand[tuple[Segment, dict[str, str]]] = Errand()
        self._merged_from = self._frozen = 0
        """The segments from one to the other are being merged beside; those before stay."""
        self._settled: dict[str, str] = {}

    @classmethod
    def open(cls, folder: Path, *, storage: StorageChoice = "auto") -> Self:
        """Open the segments in `folder`, which may be new; vectors are kept in the form `storage`.

        Where a segment has more digits than that, all are rewritten at once.

        Raises:
            CorruptArtifactError: a segment is incomplete.
            InvalidInputError: a segment keeps fewer digits than `storage` wants; they are lost.
        """
        folder.mkdir(parents=True, exist_ok=True)
        writer = cls(folder, open_segments(folder), storage)
        writer._convert()
        return writer

    @property
    def count(self) -> int:
        """Ordinals given so far: one more than the highest."""
        return ordinal_count(self._segments)

    def append(self, ordinals: NDArray[np.int64], columns: Mapping[str, NDArray[np.generic]]) -> None:
        """Add or replace rows; `columns` holds every column of `COLUMNS` and `LINE`, one row per ordinal.

        Raises:
            InvalidInputError: a column is missing or has another number of rows.
        """
        for name in (*COLUMNS, LINE):
            if name not in columns or len(columns[name]) != len(ordinals):
                raise InvalidInputError(name, f"must have {len(ordinals)} rows")
        if len(ordinals):
            self.finish_merge()
            self._write(ordinals, columns)
            self._merge(self._merge_start())

    def erase(self, ordinals: NDArray[np.int64]) -> None:
        """Overwrite rows with hidden zeros and rewrite all segments, so that no byte of them is left."""
        if not len(ordinals) or not self._segments:
            return
        shapes = {name: self._segments[0].columns[name].shape[1:] for name in COLUMNS}
        shapes["vector"] = (dimensions_of(self._segments[0].columns["vector"]),)
        blank = {name: _blank(name, (len(ordinals), *shapes[name])) for name in COLUMNS}
        blank[LINE] = np.full(len(ordinals), ERASED, object)
        self.finish_merge(wait=True)
        self._write(ordinals, blank)
        self._rewrite(0)

    def finish_merge(self, *, wait: bool = False) -> None:
        """Go on with a large segment that was merged beside, if it is done; with `wait` when it is done."""
        done = self._merging.finished(wait=wait)
        if done is not None:
            merged, sums = done
            self._settled |= sums
            self._replace(self._merged_from, self._frozen, merged)
            self._frozen = 0

    def take_settled(self) -> dict[str, str]:
        """Checksums of files that were hashed and synced when they were merged; each time the new ones."""
        settled_files, self._settled = self._settled, {}
        return settled_files

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
        # The earliest segment from which on everything is too small to stand beside its predecessor.
        start, size = len(self._segments) - 1, len(self._segments[-1])
        while start > self._frozen and len(self._segments[start - 1]) < MERGE_RATIO * size:
            start -= 1
            size += len(self._segments[start])
        return start

    def _merge(self, start: int) -> None:
        merged = self._segments[start:]
        if len(merged) < 2:  # noqa: PLR2004 - one is merged already
            return
        if sum(map(len, merged)) <= MERGED_AT_ONCE or self._frozen:
            self._rewrite(start)
            return
        # What is appended meanwhile has higher numbers, so it goes on applying later.
        folder, storage = self._next_folder(), self._storage_of(merged)
        self._merged_from, self._frozen = start, len(self._segments)
        self._merging.start(lambda: (merge_segments(folder, merged, storage=storage), settled(folder)))

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
                f"is {lost[1]}, but the store holds {lost[0]}, from which it cannot be made: "
                f"set it to {lost[0]} or auto, or build the store anew from the event stream",
            )
        if any(is_narrower(storage, held) for held, storage in pairs):
            self._rewrite(0)


@dataclass(frozen=True, slots=True, eq=False)
class Signals:
    """The signals of one generation, scalar columns by ordinal.

    Times are microseconds since 1970 (UTC), `NO_TIME` where unknown. An ordinal without a row (an
    erased memory) is hidden, has no times and zero everywhere else.
    """

    type_code: NDArray[np.uint8]
    hidden: NDArray[np.bool_]
    created_at: NDArray[np.int64]
    occurred_at: NDArray[np.int64]
    event_start: NDArray[np.int64]
    event_end: NDArray[np.int64]
    valid_from: NDArray[np.int64]
    valid_to: NDArray[np.int64]
    expires_at: NDArray[np.int64]
    last_accessed_at: NDArray[np.int64]
    salience: NDArray[np.float32]
    confidence: NDArray[np.float32]
    priority: NDArray[np.float32]
    pinned: NDArray[np.bool_]
    access_count: NDArray[np.int32]
    token_count: NDArray[np.int32]
    session_code: NDArray[np.int64]
    project_code: NDArray[np.int64]
    tenant_code: NDArray[np.int64]
    owner_code: NDArray[np.int64]
    audience_code: NDArray[np.int64]
    stream_sequence: NDArray[np.int64]
    sketch: NDArray[np.uint64]
    segments: Sequence[Segment]
    starts: NDArray[np.int64]
    rows: NDArray[np.int64]
    """Row of an ordinal in the concatenated segments, -1 where it has none."""
    members: Members
    columns: Mapping[str, Growing]
    """All of these by name, for the next generation to go on with."""

    @classmethod
    def open(cls, folder: Path, *, previous: Signals | None = None) -> Signals:
        """Map the segments in `folder`; what they share with `previous` is neither read nor copied.

        Raises:
            CorruptArtifactError: a segment is missing or incomplete.
        """
        if not folder.is_dir():
            raise CorruptArtifactError(f"folder has no signals: {folder}")
        segments = open_segments(folder, known=() if previous is None else previous.segments)
        if previous is not None and (shared := _shared_prefix(previous.segments, segments)):
            going_on = cls._going_on(previous, segments, shared)
            if going_on is not None:
                return going_on
        flat = _flat(segments)
        fresh = np.flatnonzero(flat["rows"] != _HOLE)
        members = Members.none().with_new(fresh, flat["tenant_code"][fresh])
        return cls._of({name: Growing.of(values) for name, values in flat.items()}, segments, members)

    @classmethod
    def _of(cls, columns: Mapping[str, Growing], segments: list[Segment], members: Members) -> Signals:
        flat = {name: column.values for name, column in columns.items()}
        return cls(**flat, segments=segments, starts=_starts(segments), members=members, columns=columns)

    @classmethod
    def _going_on(cls, previous: Signals, segments: list[Segment], shared: int) -> Signals | None:
        """The signals of `segments`, by what is new in them; None if the folder has another history."""
        fresh, size = segments[shared:], ordinal_count(segments)
        ordinals, rows = last_rows(_concatenated([segment.ordinals for segment in fresh], np.int64))
        gone = _concatenated([segment.ordinals for segment in previous.segments[shared:]], np.int64)
        # Rows of segments that were merged away are in a new segment now, or nothing here can be trusted.
        if size < len(previous) or not np.isin(gone, ordinals).all():
            return None
        is_known = np.zeros(len(ordinals), bool)
        known = ordinals < len(previous)
        is_known[known] = previous.rows[ordinals[known]] != _HOLE
        columns = {}
        for name, column in previous.columns.items():
            if name == "rows":
                values, fill = rows + _starts(segments)[shared], _HOLE
            else:
                parts = [segment.columns[name] for segment in fresh]
                values = np.concatenate([column.values[:0], *parts])[rows]
                fill = _blank(name, (1,))[0]
            columns[name] = column.with_values(ordinals, values, size=size, fill=fill)
        tenants = columns["tenant_code"].values[ordinals[~is_known]]
        members = previous.members.with_new(ordinals[~is_known], tenants)
        return cls._of(columns, segments, members)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def dimensions(self) -> int:
        """Length of a vector; 0 while there is none."""
        return dimensions_of(self.segments[0].columns["vector"]) if self.segments else 0

    @property
    def storage(self) -> str:
        """The forms vectors are in, in alphabetical order: two only until segments are next merged."""
        return ", ".join(sorted({segment.storage for segment in self.segments}))

    def vectors(self, ordinals: NDArray[np.int64]) -> NDArray[np.float32]:
        """Vectors of `ordinals`, one row each; zeros for an ordinal without a row."""
        return self._gather("vector", ordinals, unpacked)

    def minhash(self, ordinals: NDArray[np.int64]) -> NDArray[np.uint32]:
        """MinHash signatures of `ordinals`, one row each."""
        return self._gather("minhash", ordinals, lambda rows: rows)

    def cosines(self, query: NDArray[np.float32], ordinals: NDArray[np.int64]) -> NDArray[np.float32]:
        """Cosines of the unit vector `query` with the vectors of `ordinals` as they are stored.

        Of no memories there are none, also where no memory was ever written and vectors have no length yet.
        """
        if not len(ordinals):
            return np.empty(0, np.float32)
        sought = np.asarray(query, dtype=np.float32)
        return self._gather("vector", ordinals, lambda rows: dot_products(rows, sought))

    def nearest_sketches(
        self, query: NDArray[np.float32], ordinals: NDArray[np.int64], count: int
    ) -> NDArray[np.int64]:
        """About `count` of `ordinals`, those most likely nearest to `query`, in the order given."""
        return nearest_sketches(self.sketch, ordinals, sketches_of(query), count)

    def latest(self, count: int) -> NDArray[np.int64]:
        """Ordinals of the `count` rows that were written last, and maybe of others; ascending.

        Segments follow each other in time, so the newest that hold so many ordinals hold all of them.
        """
        found = np.empty(0, np.int64)
        for segment in reversed(self.segments):
            if len(found) >= count:
                break
            found = np.union1d(found, segment.ordinals)
        return found

    def lines(self, ordinals: NDArray[np.int64]) -> list[dict[str, Any]]:
        """What an answer shows of the memories of `ordinals`, in their order: `LINE_COLUMNS` and `ordinal`.

        Ordinals without a row are left out.
        """
        known = ordinals[(ordinals >= 0) & (ordinals < len(self))]
        rows = self.rows[known]
        known, rows = known[rows != _HOLE], rows[rows != _HOLE]
        origins = np.searchsorted(self.starts, rows, side="right") - 1
        found = []
        for ordinal, row, origin in zip(known.tolist(), rows.tolist(), origins.tolist(), strict=True):
            line = self.segments[origin].lines.read(row - int(self.starts[origin]))
            if line is not None:
                found.append({"ordinal": ordinal, **line})
        return found

    def _gather(
        self, name: str, ordinals: NDArray[np.int64], read: Callable[[NDArray[Any]], NDArray[Any]]
    ) -> NDArray[Any]:
        rows = self.rows[ordinals]
        sources = [segment.columns[name] for segment in self.segments]
        if not sources:
            return np.zeros((len(rows), 0), dtype=COLUMNS[name])
        picked = gather(sources, self.starts, np.maximum(rows, 0), read=read)
        picked[rows == _HOLE] = 0
        return picked


def _concatenated(parts: Sequence[NDArray[Any]], dtype: DTypeLike) -> NDArray[Any]:
    return np.concatenate([np.empty(0, dtype), *parts])


def _flat(segments: Sequence[Segment]) -> dict[str, NDArray[Any]]:
    """The held columns by ordinal, and the rows."""
    count = ordinal_count(segments)
    words = segments[0].columns[SKETCH].shape[1] if segments else 0
    flat = {name: _blank(name, (count, words) if name == SKETCH else (count,)) for name in HELD}
    flat["rows"] = np.full(count, _HOLE, dtype=np.int64)
    for start, segment in zip(_starts(segments).tolist(), segments, strict=False):
        for name in HELD:
            flat[name][segment.ordinals] = segment.columns[name]
        flat["rows"][segment.ordinals] = start + np.arange(len(segment))
    return flat


def _blank(name: str, shape: tuple[int, ...]) -> NDArray[Any]:
    value = NO_TIME if name in TIMES else name == "hidden"
    return np.full(shape, value, dtype=COLUMNS[name])


def _shared_prefix(before: Sequence[Segment], now: Sequence[Segment]) -> int:
    pairs = zip(before, now, strict=False)
    return next(
        (index for index, (old, new) in enumerate(pairs) if old.identity != new.identity),
        min(len(before), len(now)),
    )


def _starts(segments: Sequence[Segment]) -> NDArray[np.int64]:
    return np.cumsum([0, *(len(segment) for segment in segments)], dtype=np.int64)
