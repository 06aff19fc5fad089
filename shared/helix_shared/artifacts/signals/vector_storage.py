"""The forms in which a segment keeps its vectors, each told by the dtype of the file alone.

Whatever the form, `signals` gives float32: a form is a trade of memory against the last digits of a
cosine (ops/decisions/0015). `segments` stores and gathers the rows, this module knows what is in them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, get_args

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

Storage = Literal["float32", "float16", "int8"]
"""Numbers of a stored vector, which candidates are ordered by."""

STORAGES: Final[tuple[Storage, ...]] = get_args(Storage)

StorageChoice = Literal["auto", "float32", "float16", "int8"]
"""A form for all segments, or auto: exact in small ones, `int8` in large ones."""

EXACT_ROWS: Final = 20_000
"""Up to here auto keeps float32; a scan of more mapped rows costs four times what it does with int8."""

_MATRIX: Final = 2
_INT8_LIMIT: Final = 127
_BYTES: Final[dict[Storage, int]] = {"float32": 4, "float16": 2, "int8": 1}


def packed(vectors: NDArray[np.float32], storage: Storage) -> NDArray[Any]:
    """Rows to store for float32 `vectors` [n, dimensions].

    float16 rounds each number: of unit vectors a cosine moves by less than 2^-11. int8 scales a vector by
    its own largest number to -127..127: each number moves by half a step at most, a cosine of unit
    vectors by less than step / 2 x sqrt(dimensions).
    """
    if storage != "int8":
        return vectors.astype(storage, copy=False)
    rows = np.empty(len(vectors), dtype=_int8_rows(vectors.shape[1]))
    step = np.abs(vectors).max(axis=1, initial=0.0) / np.float32(_INT8_LIMIT)
    rows["step"] = step
    rows["codes"] = np.rint(vectors / np.where(step == 0, np.float32(1), step)[:, None])
    return rows


def unpacked(rows: NDArray[Any]) -> NDArray[np.float32]:
    """The float32 vectors of stored rows."""
    if rows.dtype.names is None:
        return rows.astype(np.float32, copy=False)
    vectors: NDArray[np.float32] = rows["codes"].astype(np.float32)
    vectors *= rows["step"][:, None]
    return vectors


def dot_products(rows: NDArray[Any], query: NDArray[np.float32]) -> NDArray[np.float32]:
    """Products of stored rows with `query`, without scaling more than the result.

    Each row by itself: a product of the whole matrix sums rows at its end in another order, so the last digit
    would depend on who stands beside.
    """
    if rows.dtype.names is None:
        products: NDArray[np.float32] = np.vecdot(rows.astype(np.float32, copy=False), query)
        return products
    scaled: NDArray[np.float32] = np.vecdot(rows["codes"].astype(np.float32), query) * rows["step"]
    return scaled


def storage_of(rows: NDArray[Any]) -> Storage | None:
    """The form these rows are in; None: no form this version knows."""
    if rows.ndim == 1 and rows.dtype.names == ("step", "codes"):
        return "int8" if rows.dtype == _int8_rows(dimensions_of(rows)) else None
    return next((s for s in STORAGES[:-1] if rows.ndim == _MATRIX and rows.dtype == np.dtype(s)), None)


def dimensions_of(rows: NDArray[Any]) -> int:
    """Length of the vectors in stored rows."""
    return int((rows if rows.dtype.names is None else rows["codes"]).shape[1])


def storage_for(choice: StorageChoice, *, rows: int, sources: Iterable[Storage] = ()) -> Storage:
    """The form of a segment of so many rows, made from segments in the forms `sources`.

    Auto never widens: digits that are gone do not come back.
    """
    if choice != "auto":
        return choice
    own: Storage = "float32" if rows <= EXACT_ROWS else "int8"
    return min((own, *sources), key=_BYTES.__getitem__)


def is_narrower(storage: Storage, than: Storage) -> bool:
    """Whether `storage` keeps fewer digits, so that a stored vector can be turned into it but not back."""
    return _BYTES[storage] < _BYTES[than]


def _int8_rows(dimensions: int) -> np.dtype[np.void]:
    return np.dtype([("step", np.float32), ("codes", np.int8, (dimensions,))])
