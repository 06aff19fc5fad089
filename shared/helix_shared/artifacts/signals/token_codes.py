"""The token codes of a segment: `TOKEN_CODE_BYTES` a token, the rows of a memory one after another.

How many a memory has is the scalar column `code_count`, so the file holds nothing but codes, and a recall
gathers those of some fifty memories from mapped pages.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from helix_shared.artifacts.files.mapped import mapped
from helix_shared.artifacts.files.saved import save_array, write_header, write_values
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

    def of_rows(self, rows: NDArray[np.int64]) -> NDArray[np.uint8]:
        """The codes of `rows`, one memory after another."""
        first, counts = self.starts[rows], self.starts[rows + 1] - self.starts[rows]
        ends = np.cumsum(counts)
        places = np.arange(ends[-1] if len(ends) else 0) + np.repeat(first - (ends - counts), counts)
        found: NDArray[np.uint8] = np.take(self.codes, places, axis=0)
        return found


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
    origin = np.searchsorted(starts, rows, side="right") - 1
    within = rows - starts[origin]
    counts = np.zeros(len(rows), np.int64)
    parts: list[tuple[NDArray[np.int64], NDArray[Any]]] = []
    for number in np.unique(origin).tolist():
        here = np.flatnonzero(origin == number)
        source, picked = sources[number], within[here]
        counts[here] = source.starts[picked + 1] - source.starts[picked]
        parts.append((here, source.of_rows(picked)))
    ends = np.cumsum(counts)
    if len(parts) == 1:
        return parts[0][1], ends
    codes = np.empty((ends[-1] if len(ends) else 0, TOKEN_CODE_BYTES), np.uint8)
    for here, found in parts:
        is_here = np.zeros(len(rows), np.bool_)
        is_here[here] = True
        codes[np.repeat(is_here, counts)] = found
    return codes, ends
