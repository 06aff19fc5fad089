"""The signals: fixed-width columns by ordinal, mapped into memory, and their reader; see `signal_writer`.

Everything ranking needs of a candidate without asking a store: times, scores, codes as flat arrays,
vectors and MinHash signatures gathered from memory-mapped files. Stored as immutable segments in
which the later row wins; merged geometrically, so that there are few and appending stays cheap.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from helix_shared.artifacts.files.mapped import release_pages, warm
from helix_shared.artifacts.signals.append_only import AppendOnlyColumn
from helix_shared.artifacts.signals.columns import COLUMNS, SCALARS, SKETCH, blank
from helix_shared.artifacts.signals.segments import Segment, gather, last_rows, open_segments, ordinal_count
from helix_shared.artifacts.signals.sketches import Sought
from helix_shared.artifacts.signals.tenant_sketches import TenantSketches
from helix_shared.artifacts.signals.vector_storage import dimensions_of, dot_products, unpacked
from helix_shared.errors import CorruptArtifactError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import DTypeLike, NDArray


_HOLE: Final = -1


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
    event_guessed: NDArray[np.bool_]
    access_count: NDArray[np.int32]
    token_count: NDArray[np.int32]
    session_code: NDArray[np.int64]
    project_code: NDArray[np.int64]
    tenant_code: NDArray[np.int64]
    owner_code: NDArray[np.int64]
    audience_code: NDArray[np.int64]
    stream_sequence: NDArray[np.int64]
    segments: Sequence[Segment]
    starts: NDArray[np.int64]
    rows: NDArray[np.int64]
    """Row of an ordinal in the concatenated segments, -1 where it has none."""
    members: TenantSketches
    columns: Mapping[str, AppendOnlyColumn]
    """All of these by name, for the next generation to go on with."""

    @classmethod
    def open(cls, folder: Path, *, previous: Signals | None = None) -> Signals:
        """Map the segments in `folder`; what they share with `previous` is neither read nor copied.

        Raises:
            CorruptArtifactError: a segment is missing or incomplete.
        """
        if not folder.is_dir():
            raise CorruptArtifactError(f"folder has no signals: {folder}")
        segments = open_segments(folder, previous=() if previous is None else previous.segments)
        if previous is not None and (shared := _shared_prefix(previous.segments, segments)):
            going_on = cls._going_on(previous, segments, shared)
            if going_on is not None:
                return going_on
        flat = _flat(segments)
        fresh = np.flatnonzero(flat["rows"] != _HOLE)
        sketches = _sketches(segments, flat["rows"][fresh])
        members = TenantSketches.none().with_new(fresh, flat["tenant_code"][fresh], sketches)
        _release_pages(segments)
        return cls._of(
            {name: AppendOnlyColumn.of(values) for name, values in flat.items()}, segments, members
        )

    @classmethod
    def _of(
        cls, columns: Mapping[str, AppendOnlyColumn], segments: list[Segment], members: TenantSketches
    ) -> Signals:
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
                fill = blank(name, (1,))[0]
            columns[name] = column.with_values(ordinals, values, size=size, fill=fill)
        sketches, old, new = _sketches(fresh, rows), ordinals[is_known], ordinals[~is_known]
        # an erased memory has no tenant any more, but had one
        members = previous.members.with_changed(old, previous.tenant_code[old], sketches[is_known])
        members = members.with_new(new, columns["tenant_code"].values[new], sketches[~is_known])
        _release_pages(fresh)
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

    def warm(self) -> None:
        """Bring the stored vectors into the memory of this process: a recall compares thousands of them."""
        for segment in self.segments:
            warm(segment.columns["vector"])

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
        self,
        query: NDArray[np.float32],
        tenant_code: int,
        count: int,
        among: NDArray[np.bool_] | None = None,
    ) -> NDArray[np.int64]:
        """The `count` memories of a tenant most likely nearest to `query`; see `TenantSketches.nearest`."""
        return self.members.nearest(tenant_code, Sought.of(query), count, among)

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
        within = (rows - self.starts[origins]).tolist()
        lines = [self.segments[origin].lines for origin in origins.tolist()]
        for of_segment, row in zip(lines, within, strict=True):
            of_segment.expect(row)
        for ordinal, of_segment, row in zip(known.tolist(), lines, within, strict=True):
            line = of_segment.read(row)
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


def _release_pages(segments: Sequence[Segment]) -> None:
    """Give back the pages of columns that were copied."""
    for segment in segments:
        release_pages(segment.scalars)
        release_pages(segment.columns[SKETCH])


def _sketches(segments: Sequence[Segment], rows: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Sketches of rows of the concatenation of `segments`."""
    return gather([segment.columns[SKETCH] for segment in segments], _starts(segments), rows)


def _flat(segments: Sequence[Segment]) -> dict[str, NDArray[Any]]:
    """The held columns by ordinal, and the rows."""
    count = ordinal_count(segments)
    flat = {name: blank(name, (count,)) for name in SCALARS}
    flat["rows"] = np.full(count, _HOLE, dtype=np.int64)
    for start, segment in zip(_starts(segments).tolist(), segments, strict=False):
        for name in SCALARS:
            flat[name][segment.ordinals] = segment.columns[name]
        flat["rows"][segment.ordinals] = start + np.arange(len(segment))
    return flat


def _shared_prefix(before: Sequence[Segment], now: Sequence[Segment]) -> int:
    pairs = zip(before, now, strict=False)
    return next(
        (index for index, (old, new) in enumerate(pairs) if old.identity != new.identity),
        min(len(before), len(now)),
    )


def _starts(segments: Sequence[Segment]) -> NDArray[np.int64]:
    return np.cumsum([0, *(len(segment) for segment in segments)], dtype=np.int64)
