"""The records of a segment: what a reply shows of a memory, one line of JSON each, read by offset.

A reply needs about ten rows of two dozen texts. Reading them takes 3 to 7 ms from LanceDB, .5 ms from a
mapped Arrow table and less than .1 ms here. The file is read with `pread` and not mapped: a mapping of two
gigabytes keeps ever more pages resident, and a page fault holds the interpreter lock.
"""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import numpy as np
from pydantic_core import from_json

from helix_shared.artifacts.files.mapped import mapped
from helix_shared.artifacts.files.saved import save_array

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import pyarrow as pa
    from numpy.typing import NDArray

RECORD_COLUMNS: Final = (
    "memory_id", "tenant_id", "user_id", "project_id", "session_id", "text", "title", "context", "speaker",
    "role", "event_id", "event_kind", "document_id", "source_uri", "piece", "char_start", "char_end",
    "categories", "source_class", "expansions", "superseded_by", "speech_act",
    "answers", "answered_by", "derived_from", "flags", "facets", "facet_spans",
    "owner", "audience", "revision_sequence",
)  # fmt: skip
"""Columns of `record_schema` that are in a record; times and numbers are columns of the signals."""

ERASED: Final = b""
"""The record of an erased memory."""

_BODY: Final = "lines.jsonl"
_STARTS: Final = "line_starts.npy"
_CHUNK_ROWS: Final = 16_384


class _Body:
    """The file of the lines, open until nothing refers to it any more."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self.size = os.fstat(self._descriptor).st_size

    def read(self, start: int, end: int) -> bytes:
        """The bytes from `start` up to `end`; safe to call from several threads.

        Raises:
            OSError: the file is shorter.
        """
        found = os.pread(self._descriptor, end - start, start)
        # one call returns at most two gigabytes
        while len(found) < end - start:
            more = os.pread(self._descriptor, end - start - len(found), start + len(found))
            if not more:
                raise OSError(f"records end at byte {start + len(found)} of {end}")
            found += more
        return found

    def prefetch(self, start: int, end: int) -> None:
        """Start reading these bytes from the disk without waiting."""
        os.posix_fadvise(self._descriptor, start, end - start, os.POSIX_FADV_WILLNEED)

    def __del__(self) -> None:
        # opening failed before there was a descriptor
        with contextlib.suppress(AttributeError):
            os.close(self._descriptor)


@dataclass(frozen=True, slots=True)
class RecordFile:
    """Records by row; the line of row i is `starts[i]` up to `starts[i + 1]`, its line feed included."""

    body: _Body
    starts: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.starts) - 1

    def prefetch(self, row: int) -> None:
        """Start reading a record from the disk, so that several cold ones are read at the same time."""
        start, end = self.starts[row : row + 2].tolist()
        self.body.prefetch(start, end)

    def line(self, row: int) -> bytes:
        """The bytes of a record, without the line feed."""
        start, end = self.starts[row : row + 2].tolist()
        return self.body.read(start, end - 1)

    def read(self, row: int) -> dict[str, Any] | None:
        """The `RECORD_COLUMNS` of a memory; None for an erased one."""
        line = self.line(row)
        found: dict[str, Any] | None = from_json(line, cache_strings="keys") if line else None
        return found


def encoded_records(records: pa.Table) -> NDArray[np.object_]:
    """The record of every row of `records` (`record_schema`), as bytes."""
    rows = np.empty(records.num_rows, object)
    rows[:] = [encoded(row) for row in records.select(RECORD_COLUMNS).to_pylist()]
    return rows


def encoded(row: Mapping[str, Any]) -> bytes:
    """A record as bytes; it holds no lone surrogates, which no store can hold."""
    return json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode()


def open_records(folder: Path) -> RecordFile:
    """Open the records of a segment.

    Raises:
        OSError: a file is missing.
        ValueError: the two files do not fit together.
    """
    starts = mapped(folder / _STARTS)
    body = _Body(folder / _BODY)
    if not len(starts) or int(starts[-1]) != body.size:
        raise ValueError(f"records and their file have different ends: {folder}")
    return RecordFile(body, starts)


def write_records(folder: Path, records: Sequence[bytes]) -> None:
    """Write records into the folder of a segment."""
    with (folder / _BODY).open("wb") as target:
        target.writelines(record + b"\n" for record in records)
    _write_starts(folder, np.fromiter(map(len, records), np.int64, len(records)) + 1)


def write_gathered_records(
    folder: Path, sources: Sequence[RecordFile], starts: NDArray[np.int64], rows: NDArray[np.int64]
) -> None:
    """Write rows of the concatenation of `sources`; `starts` are the row offsets of the sources."""
    lengths = np.empty(len(rows), np.int64)
    with (folder / _BODY).open("wb") as target:
        for first in range(0, len(rows), _CHUNK_ROWS):
            chunk = rows[first : first + _CHUNK_ROWS]
            lengths[first : first + len(chunk)] = _copy(target, sources, starts, chunk)
    _write_starts(folder, lengths)


def _copy(
    target: BinaryIO, sources: Sequence[RecordFile], starts: NDArray[np.int64], rows: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Append the lines of `rows`; returns their lengths in bytes, line feeds included."""
    lengths = np.empty(len(rows), np.int64)
    origin = np.searchsorted(starts, rows, side="right") - 1
    # consecutive rows of one source are copied together
    breaks = np.flatnonzero((np.diff(rows) != 1) | (np.diff(origin) != 0)) + 1
    for first, last in zip([0, *breaks], [*breaks, len(rows)], strict=True):
        source = sources[origin[first]]
        row = int(rows[first] - starts[origin[first]])
        edges = source.starts[row : row + last - first + 1]
        lengths[first:last] = np.diff(edges)
        target.write(source.body.read(int(edges[0]), int(edges[-1])))
    return lengths


def _write_starts(folder: Path, lengths: NDArray[np.int64]) -> None:
    save_array(folder / _STARTS, np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)]))
