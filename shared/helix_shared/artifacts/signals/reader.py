"""The reader of the signals: values of candidates that ranking needs, without a call to an engine.

Scalar columns are flat arrays in memory; vectors and MinHash signatures are gathered from mapped files.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from helix_shared.artifacts.distinct import distinct
from helix_shared.artifacts.files.mapped import read_single_pages, release_pages, warm
from helix_shared.artifacts.signals.append_only import AppendOnlyColumn
from helix_shared.artifacts.signals.columns import COLUMNS, SCALARS, SKETCH, blank
from helix_shared.artifacts.signals.gathering import gather
from helix_shared.artifacts.signals.segments import Segment, last_rows, open_segments, ordinal_count
from helix_shared.artifacts.signals.sketches import SketchQuery
from helix_shared.artifacts.signals.tenant_sketches import TenantSketches
from helix_shared.artifacts.signals.token_codes import gathered_codes
from helix_shared.artifacts.signals.vector_storage import dimensions_of, dot_products, unpacked
from helix_shared.errors import CorruptArtifactError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import DTypeLike, NDArray


NO_ROW: Final = -1


@dataclass(frozen=True, slots=True, eq=False)
class Signals:
    """The signals of one generation; scalar columns are indexed by ordinal.

    Times are microseconds since 1970 (UTC), or `NO_TIME`. An ordinal without a row (an erased memory) is
    hidden, has no times and zero in every other column.
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
    speech_act: NDArray[np.uint8]
    about_code: NDArray[np.int64]
    is_answered: NDArray[np.bool_]
    is_derived: NDArray[np.bool_]
    flags: NDArray[np.uint8]
    source_code: NDArray[np.int64]
    answers_code: NDArray[np.int64]
    facets: NDArray[np.uint16]
    salience_move: NDArray[np.float32]
    last_feedback_at: NDArray[np.int64]
    decayed_at: NDArray[np.int64]
    replaced_at: NDArray[np.int64]
    """From when a later memory replaces this one; `NO_TIME` also for one that was forgotten."""
    code_count: NDArray[np.int32]
    segments: Sequence[Segment]
    starts: NDArray[np.int64]
    rows: NDArray[np.int64]
    """Row of an ordinal in the concatenated segments; `NO_ROW` for none."""
    tenant_sketches: TenantSketches
    columns: Mapping[str, AppendOnlyColumn]
    """The scalar columns and `rows` by name, for the reader of the next generation."""

    @classmethod
    def open(cls, folder: Path, *, previous: Signals | None = None) -> Signals:
        """Map the segments in `folder`; segments of `previous` are neither read nor copied again.

        Raises:
            CorruptArtifactError: a segment is missing or incomplete.
        """
        if not folder.is_dir():
            raise CorruptArtifactError(f"folder has no signals: {folder}")
        segments = open_segments(folder, previous=() if previous is None else previous.segments)
        if previous is not None and (shared := _shared_prefix(previous.segments, segments)):
            continued = cls._continued(previous, segments, shared)
            if continued is not None:
                return continued
        flat = _flat(segments)
        fresh = np.flatnonzero(flat["rows"] != NO_ROW)
        sketches = _sketches(segments, flat["rows"][fresh])
        by_tenant = TenantSketches.none().with_new(fresh, flat["tenant_code"][fresh], sketches)
        _release_pages(segments)
        return cls._of(
            {name: AppendOnlyColumn.of(values) for name, values in flat.items()}, segments, by_tenant
        )

    @classmethod
    def _of(
        cls, columns: Mapping[str, AppendOnlyColumn], segments: list[Segment], tenant_sketches: TenantSketches
    ) -> Signals:
        flat = {name: column.values for name, column in columns.items()}
        return cls(
            **flat,
            segments=segments,
            starts=_starts(segments),
            tenant_sketches=tenant_sketches,
            columns=columns,
        )

    @classmethod
    def _continued(cls, previous: Signals, segments: list[Segment], shared: int) -> Signals | None:
        """The signals of `segments`, made by updating `previous`; None if the folder has another history."""
        fresh, size = segments[shared:], ordinal_count(segments)
        ordinals, rows = last_rows(_concatenated([segment.ordinals for segment in fresh], np.int64))
        gone = _concatenated([segment.ordinals for segment in previous.segments[shared:]], np.int64)
        # every row of a segment that was merged away must be in a new segment
        if size < len(previous) or not np.isin(gone, ordinals).all():
            return None
        is_old = np.zeros(len(ordinals), bool)
        below = ordinals < len(previous)
        is_old[below] = previous.rows[ordinals[below]] != NO_ROW
        columns = {}
        for name, column in previous.columns.items():
            if name == "rows":
                values, fill = rows + _starts(segments)[shared], NO_ROW
            else:
                parts = [segment.columns[name] for segment in fresh]
                values = np.concatenate([column.values[:0], *parts])[rows]
                fill = blank(name, (1,))[0]
            columns[name] = column.with_values(ordinals, values, size=size, fill=fill)
        sketches, old, new = _sketches(fresh, rows), ordinals[is_old], ordinals[~is_old]
        # the row of an erased memory names no tenant, so the tenant is taken from the previous generation
        by_tenant = previous.tenant_sketches.with_changed(old, previous.tenant_code[old], sketches[is_old])
        by_tenant = by_tenant.with_new(new, columns["tenant_code"].values[new], sketches[~is_old])
        _release_pages(fresh)
        return cls._of(columns, segments, by_tenant)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def dimensions(self) -> int:
        """Length of a vector; 0 if there is no segment."""
        return dimensions_of(self.segments[0].columns["vector"]) if self.segments else 0

    @property
    def storage(self) -> str:
        """The forms of the stored vectors, in alphabetical order; more than one until segments are merged."""
        return ", ".join(sorted({segment.storage for segment in self.segments}))

    def vectors(self, ordinals: NDArray[np.int64]) -> NDArray[np.float32]:
        """Vectors of `ordinals`, one row each; zeros for an ordinal without a row."""
        return self._gather("vector", ordinals, unpacked)

    def warm(self) -> None:
        """Read all pages of the stored vectors and token codes, of which a recall compares thousands.

        Codes that are too large for it are read page by page: a recall needs those of some fifty memories.
        """
        for segment in self.segments:
            warm(segment.columns["vector"])
            warm(segment.codes.codes)
            read_single_pages(segment.codes.codes)

    def minhash(self, ordinals: NDArray[np.int64]) -> NDArray[np.uint32]:
        """MinHash signatures of `ordinals`, one row each."""
        return self._gather("minhash", ordinals, lambda rows: rows)

    def cosines(self, query: NDArray[np.float32], ordinals: NDArray[np.int64]) -> NDArray[np.float32]:
        """Cosines of the unit vector `query` with the stored vectors of `ordinals`.

        `ordinals` may be empty, also while there is no segment and so no vector length.
        """
        if not len(ordinals):
            return np.empty(0, np.float32)
        unit = np.asarray(query, dtype=np.float32)
        return self._gather("vector", ordinals, lambda rows: dot_products(rows, unit))

    def token_codes(self, ordinals: NDArray[np.int64]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """Codes uint8 [total, TOKEN_CODE_BYTES] of `ordinals` one after another, and where each one's end.

        The codes of `ordinals[i]` are the rows from `ends[i - 1]` (0 for the first) up to `ends[i]`; none for
        an ordinal without a row, an erased memory, or one whose text has no coded token.
        """
        rows = self.rows[ordinals]
        is_there = rows != NO_ROW
        counts = np.zeros(len(rows), np.int64)
        codes, ends = gathered_codes(
            [segment.codes for segment in self.segments], self.starts, rows[is_there]
        )
        counts[is_there] = np.diff(ends, prepend=0)
        return codes, np.cumsum(counts)

    def nearest_sketches(
        self,
        query: NDArray[np.float32],
        tenant_code: int,
        count: int,
        among: NDArray[np.bool_] | None = None,
    ) -> NDArray[np.int64]:
        """The `count` memories of a tenant that are nearest by estimate; see `TenantSketches.nearest`."""
        return self.tenant_sketches.nearest(tenant_code, SketchQuery.of(query), count, among)

    def latest(self, count: int) -> NDArray[np.int64]:
        """Ordinals of at least the `count` rows written last, ascending.

        They are the ordinals of the newest segments that hold this many.
        """
        found = np.empty(0, np.int64)
        for segment in reversed(self.segments):
            if len(found) >= count:
                break
            found = distinct(found, segment.ordinals)
        return found

    def records(self, ordinals: NDArray[np.int64]) -> list[dict[str, Any]]:
        """`ordinal` and `RECORD_COLUMNS` of the memories of `ordinals`, in their order.

        Ordinals without a row and erased memories are left out.
        """
        existing = ordinals[(ordinals >= 0) & (ordinals < len(self))]
        rows = self.rows[existing]
        existing, rows = existing[rows != NO_ROW], rows[rows != NO_ROW]
        origins = np.searchsorted(self.starts, rows, side="right") - 1
        within = (rows - self.starts[origins]).tolist()
        files = [self.segments[origin].records for origin in origins.tolist()]
        for file, row in zip(files, within, strict=True):
            file.prefetch(row)
        found = []
        for ordinal, file, row in zip(existing.tolist(), files, within, strict=True):
            record = file.read(row)
            if record is not None:
                found.append({"ordinal": ordinal, **record})
        return found

    def _gather(
        self, name: str, ordinals: NDArray[np.int64], read: Callable[[NDArray[Any]], NDArray[Any]]
    ) -> NDArray[Any]:
        rows = self.rows[ordinals]
        sources = [segment.columns[name] for segment in self.segments]
        if not sources:
            return np.zeros((len(rows), 0), dtype=COLUMNS[name])
        picked = gather(sources, self.starts, np.maximum(rows, 0), read=read)
        picked[rows == NO_ROW] = 0
        return picked


def _concatenated(parts: Sequence[NDArray[Any]], dtype: DTypeLike) -> NDArray[Any]:
    return np.concatenate([np.empty(0, dtype), *parts])


def _release_pages(segments: Sequence[Segment]) -> None:
    """Release the pages of mapped columns that were copied."""
    for segment in segments:
        release_pages(segment.scalars)
        release_pages(segment.columns[SKETCH])


def _sketches(segments: Sequence[Segment], rows: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Sketches of rows of the concatenation of `segments`."""
    return gather([segment.columns[SKETCH] for segment in segments], _starts(segments), rows)


def _flat(segments: Sequence[Segment]) -> dict[str, NDArray[Any]]:
    """The scalar columns by ordinal, and `rows`."""
    count = ordinal_count(segments)
    flat = {name: blank(name, (count,)) for name in SCALARS}
    flat["rows"] = np.full(count, NO_ROW, dtype=np.int64)
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
