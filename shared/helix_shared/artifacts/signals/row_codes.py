"""Codes of the rows of a table, computed once for each distinct row.

Values are compared by their number in a dictionary, never by a text joined from several values, so no name
can make two different rows look equal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from helix_shared.identity import ESCAPE, ESCAPES, SEPARATOR

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray


def codes_of_rows(columns: Sequence[pa.ChunkedArray], code: Callable[[int], int]) -> NDArray[np.int64]:
    """`code` of every row; `code` is called with one row number for each distinct combination of `columns`.

    The columns hold strings, or lists of strings that are not empty.
    """
    rows = _numbered(columns[0])
    for column in columns[1:]:
        # each number is below the number of rows, so the product fits into 64 bits
        numbers = _numbered(column)
        rows = _numbers(pa.array(rows * (int(numbers.max(initial=0)) + 1) + numbers))
    # dictionary numbers ascend in order of first appearance
    first = np.flatnonzero(np.diff(np.maximum.accumulate(rows), prepend=-1))
    codes = np.fromiter((code(int(place)) for place in first), np.int64, len(first))
    picked: NDArray[np.int64] = codes[rows] if len(codes) else codes
    return picked


def _numbered(column: pa.ChunkedArray) -> NDArray[np.int64]:
    """The dictionary number of every row's value."""
    array: Any = column.combine_chunks()
    return _numbers(_joined_lists(array) if pa.types.is_list(array.type) else array)


def _numbers(values: pa.Array) -> NDArray[np.int64]:
    numbers: NDArray[np.int64] = values.dictionary_encode().indices.to_numpy().astype(np.int64)
    return numbers


def _joined_lists(lists: Any) -> Any:
    """One string per list, as `identity.joined` makes it."""
    lengths = pc.list_value_length(lists).to_numpy()
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    return pc.binary_join(pa.ListArray.from_arrays(offsets, _escaped(lists.flatten())), SEPARATOR)


def _escaped(texts: Any) -> Any:
    for plain in (ESCAPE, SEPARATOR):
        if pc.any(pc.match_substring(texts, plain)).as_py():
            texts = pc.replace_substring(texts, plain, ESCAPES[plain])
    return texts
