"""The token codes of a segment: `TOKEN_CODE_BYTES` a token, the rows of a memory one after another.

How many a memory has is the scalar column `code_count`, so the file holds nothing but codes, and a recall
gathers those of some fifty memories from mapped pages.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from helix_shared.artifacts.files.mapped import mapped
from helix_shared.artifacts.files.saved import save_array, write_header, write_values
from helix_shared.artifacts.signals.gathering import by_source
from helix_shared.edges import TOKEN_CODE_BYTES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

NO_CODES: Final = b""
_FILE: Final = "token_codes.npy"
_CHUNK_ROWS: Final = 16_384


@dataclass(frozen=True, slots=True, eq=False)
class CodeFile:
    """Codes by row; those of row i are `codes[starts[i] : starts[i + 1]]`."""

    codes: NDArray[np.uint8]
    """[n, TOKEN_CODE_BYTES], mapped."""
    starts: NDArray[np.int64]

    def of_row(self, row: int) -> NDArray[np.uint8]:
        """The codes of one memory."""
        start, end = self.starts[row : row + 2].tolist()
        return self.codes[start:end]


def open_codes(folder: Path, counts: NDArray[np.int32]) -> CodeFile:
    """Map the codes of a segment whose rows have `counts` codes.

    Raises:
        OSError: the file is missing.
        ValueError: the file holds something else, or another number of codes.
    """
    codes = mapped(folder / _FILE)
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)])
    if codes.dtype != np.uint8 or codes.shape != (starts[-1], TOKEN_CODE_BYTES) or (counts < 0).any():
        raise ValueError(f"token codes and their counts do not fit together: {folder}")
    return CodeFile(codes, starts)


def write_codes(folder: Path, rows: Sequence[bytes]) -> None:
    """Write the codes of each row into the folder of a segment."""
    flat = np.frombuffer(b"".join(rows), np.uint8)
    save_array(folder / _FILE, flat.reshape(-1, TOKEN_CODE_BYTES))


def write_gathered_codes(
    folder: Path, sources: Sequence[CodeFile], starts: NDArray[np.int64], rows: NDArray[np.int64]
) -> None:
    """Write rows of the concatenation of `sources`; `starts` are the row offsets of the sources.

    In chunks, since the codes of a merged segment may be larger than the memory.
    """
    counts = np.concatenate([np.diff(source.starts) for source in sources])
    with (folder / _FILE).open("wb") as target:
        write_header(target, np.dtype(np.uint8), (int(counts[rows].sum()), TOKEN_CODE_BYTES))
        for first in range(0, len(rows), _CHUNK_ROWS):
            codes, _ = gathered_codes(sources, starts, rows[first : first + _CHUNK_ROWS])
            write_values(target, codes)


def gathered_codes(
    sources: Sequence[CodeFile], starts: NDArray[np.int64], rows: NDArray[np.int64]
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Codes [total, TOKEN_CODE_BYTES] of rows of the concatenation of `sources`, and where each row ends."""
    order, within, parts = by_source(starts, rows)
    begins, counts = np.empty(len(rows), np.int64), np.empty(len(rows), np.int64)
    for number, first, end in parts:
        file, picked = sources[number].starts, within[first:end]
        begins[first:end] = file[picked]
        counts[first:end] = file[picked + 1]
    counts -= begins
    ends = np.cumsum(counts)
    places = _ranges(begins, counts)
    found = [
        sources[number].codes.take(places[ends[first] - counts[first] : ends[end - 1]], axis=0)
        for number, first, end in parts
    ]
    codes = np.concatenate([np.empty((0, TOKEN_CODE_BYTES), np.uint8), *found])
    if len(parts) <= 1:
        return codes, ends
    # from the order of the sources to that of the rows
    begins, lengths = np.empty_like(ends), np.empty_like(counts)
    begins[order], lengths[order] = ends - counts, counts
    return codes[_ranges(begins, lengths)], np.cumsum(lengths)


def _ranges(begins: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The numbers from each of `begins` on, so many as `counts` says, one range after another."""
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    ranges: NDArray[np.int64] = np.arange(total) + np.repeat(begins - (ends - counts), counts)
    return ranges
