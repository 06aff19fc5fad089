"""The lines of a segment: what an answer shows of a memory, one JSON object each, read where they stand.

An answer needs ten rows of two dozen texts. A take from LanceDB costs 3 to 7 ms for that, from a mapped
Arrow table .5, from here less than .1. They are read, not mapped: of two gigabytes a mapping keeps ever more
pages resident, and waits for a cold one without letting other threads go on. `segments` writes them beside
the columns, so they are never older or newer; the vector table keeps the whole record for the writer.
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

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import pyarrow as pa
    from numpy.typing import NDArray

LINE_COLUMNS: Final = (
    "memory_id", "tenant_id", "user_id", "project_id", "session_id", "text", "title", "context", "speaker",
    "role", "event_id", "event_kind", "document_id", "source_uri", "piece", "char_start", "char_end",
    "categories", "source_class", "expansions", "superseded_by", "owner", "audience", "revision_sequence",
)  # fmt: skip
"""What of a record is in its line; times and values stand in the columns of the signals."""

ERASED: Final = b""
"""The line of a memory that is gone."""

_BODY: Final = "lines.jsonl"
_STARTS: Final = "line_starts.npy"
_CHUNK_LINES: Final = 16_384


class _Body:
    """An open file of lines, until nothing refers to it any more."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self.size = os.fstat(self._descriptor).st_size

    def read(self, start: int, end: int) -> bytes:
        """The bytes from `start` up to `end`; several threads may ask at once.

        Raises:
            OSError: the file was cut off.
        """
        found = os.pread(self._descriptor, end - start, start)
        # one call gives two gigabytes at most
        while len(found) < end - start:
            more = os.pread(self._descriptor, end - start - len(found), start + len(found))
            if not more:
                raise OSError(f"lines end at byte {start + len(found)} of {end}")
            found += more
        return found

    def expect(self, start: int, end: int) -> None:
        """Let the disk begin with what will be read, without waiting for it."""
        os.posix_fadvise(self._descriptor, start, end - start, os.POSIX_FADV_WILLNEED)

    def __del__(self) -> None:
        # without a descriptor where opening failed
        with contextlib.suppress(AttributeError):
            os.close(self._descriptor)


@dataclass(frozen=True, slots=True)
class RecordFile:
    """Lines of a file; line i stands from `starts[i]` up to `starts[i + 1]`, its line feed included."""

    body: _Body
    starts: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.starts) - 1

    def expect(self, row: int) -> None:
        """Say that a line will be read soon: of several cold ones the disk reads all at once."""
        start, end = self.starts[row : row + 2].tolist()
        self.body.expect(start, end)

    def line(self, row: int) -> bytes:
        """The bytes of one line, without its line feed."""
        start, end = self.starts[row : row + 2].tolist()
        return self.body.read(start, end - 1)

    def read(self, row: int) -> dict[str, Any] | None:
        """One memory as `LINE_COLUMNS`; None for one that was erased."""
        line = self.line(row)
        found: dict[str, Any] | None = from_json(line, cache_strings="keys") if line else None
        return found


def lines_of(records: pa.Table) -> NDArray[np.object_]:
    """The line of every row of `records` (`record_schema`), as bytes."""
    lines = np.empty(records.num_rows, object)
    lines[:] = [encoded(row) for row in records.select(LINE_COLUMNS).to_pylist()]
    return lines


def encoded(row: Mapping[str, Any]) -> bytes:
    """A row as its line. Lone surrogates, which no store can hold, never come this far."""
    return json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode()


def open_lines(folder: Path) -> RecordFile:
    """Open the lines of a segment.

    Raises:
        OSError: a file is missing.
        ValueError: the two files do not fit together.
    """
    starts = mapped(folder / _STARTS)
    body = _Body(folder / _BODY)
    if not len(starts) or int(starts[-1]) != body.size:
        raise ValueError(f"lines end elsewhere than their file: {folder}")
    return RecordFile(body, starts)


def write_lines(folder: Path, lines: Sequence[bytes]) -> None:
    """Write lines into the folder of a segment."""
    with (folder / _BODY).open("wb") as target:
        target.writelines(line + b"\n" for line in lines)
    _write_starts(folder, np.fromiter(map(len, lines), np.int64, len(lines)) + 1)


def write_gathered_lines(
    folder: Path, sources: Sequence[RecordFile], starts: NDArray[np.int64], rows: NDArray[np.int64]
) -> None:
    """Write rows of the concatenation of `sources`, whose offsets are `starts`, run by run."""
    lengths = np.empty(len(rows), np.int64)
    with (folder / _BODY).open("wb") as target:
        for first in range(0, len(rows), _CHUNK_LINES):
            chunk = rows[first : first + _CHUNK_LINES]
            lengths[first : first + len(chunk)] = _copy(target, sources, starts, chunk)
    _write_starts(folder, lengths)


def _copy(
    target: BinaryIO, sources: Sequence[RecordFile], starts: NDArray[np.int64], rows: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Append the lines of `rows`; returns their lengths, line feeds included."""
    lengths = np.empty(len(rows), np.int64)
    origin = np.searchsorted(starts, rows, side="right") - 1
    # rows that follow each other in one source are one stretch of its file
    breaks = np.flatnonzero((np.diff(rows) != 1) | (np.diff(origin) != 0)) + 1
    for first, last in zip([0, *breaks], [*breaks, len(rows)], strict=True):
        source = sources[origin[first]]
        row = int(rows[first] - starts[origin[first]])
        edges = source.starts[row : row + last - first + 1]
        lengths[first:last] = np.diff(edges)
        target.write(source.body.read(int(edges[0]), int(edges[-1])))
    return lengths


def _write_starts(folder: Path, lengths: NDArray[np.int64]) -> None:
    np.save(folder / _STARTS, np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)]))
