"""Rows of several segments, gathered as if these were one table.

A recall gathers a few times, from as many segments as hold its rows. Each costs a few calls of numpy, so what
can be done for all of them together is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray


def by_source(
    starts: NDArray[np.int64], rows: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], list[tuple[int, int, int]]]:
    """The order of `rows` by source, their rows within the sources in that order, and whose they are.

    `starts` are the row offsets of the sources. An entry of the last is a source, by number, and the first
    and the end of its rows in that order. The cost is that of the sources that have some of `rows`.
    """
    origin = np.searchsorted(starts, rows, side="right") - 1
    order = np.argsort(origin, kind="stable")
    origin = origin[order]
    numbers, first = np.unique(origin, return_index=True)
    ends = [*first[1:].tolist(), len(rows)]
    parts = list(zip(numbers.tolist(), first.tolist(), ends, strict=True)) if len(rows) else []
    return order, rows[order] - starts[origin], parts


def as_stored(rows: NDArray[Any]) -> NDArray[Any]:
    """The rows themselves."""
    return rows


def gather(
    sources: Sequence[NDArray[np.generic]],
    starts: NDArray[np.int64],
    rows: NDArray[np.int64],
    *,
    read: Callable[[NDArray[Any]], NDArray[Any]] = as_stored,
) -> NDArray[Any]:
    """Rows of the concatenation of `sources`, converted by `read`; the concatenation is not built.

    `starts` are the row offsets of the sources; `read` returns one row for each row.
    """
    if len(sources) == 1:
        return read(np.take(sources[0], rows, axis=0))
    if not sources:
        return np.empty(0)
    order, within, parts = by_source(starts, rows)
    picked: NDArray[Any] | None = None
    for number, first, end in parts or [(0, 0, 0)]:
        part = read(sources[number].take(within[first:end], axis=0))
        if picked is None:
            picked = part if len(part) == len(rows) else np.empty((len(rows), *part.shape[1:]), part.dtype)
        if picked is not part:
            # no second buffer that is ordered afterwards: for the vectors of 800 rows that takes 3 ms more
            picked[order[first:end]] = part
    return np.empty(0) if picked is None else picked
