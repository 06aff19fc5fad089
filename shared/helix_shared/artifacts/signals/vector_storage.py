"""The forms in which a segment stores its vectors; the dtype of the file identifies the form.

`signals` returns float32 in every form: a form trades memory for the last digits of a cosine
(ops/decisions/0015). `signals.segments` stores and gathers the rows, this module packs and unpacks them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, get_args

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

Storage = Literal["float32", "float16", "int8"]
"""Type of a stored vector's numbers; candidates are ranked by stored vectors."""

STORAGES: Final[tuple[Storage, ...]] = get_args(Storage)

StorageChoice = Literal["auto", "float32", "float16", "int8"]
"""A form for all segments; auto: float32 in small segments, int8 in large ones."""

EXACT_ROWS: Final = 20_000
"""Up to here auto stores float32; a scan of more mapped rows takes four times as long as with int8."""

_MATRIX: Final = 2
_INT8_LIMIT: Final = 127
_BYTES: Final[dict[Storage, int]] = {"float32": 4, "float16": 2, "int8": 1}


def packed(vectors: NDArray[np.float32], storage: Storage) -> NDArray[Any]:
    """Rows to store for float32 `vectors` [n, dimensions].

    float16 rounds each number: a cosine of unit vectors changes by less than 2^-11. int8 scales each vector
    by its largest number to -127..127: a number changes by half a step at most, a cosine of unit vectors
    by less than step / 2 x sqrt(dimensions).
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
    """Dot products of stored rows with `query`.

    Row by row: a product of the whole matrix sums its last rows in another order, so the last digit of a
    product would depend on the other rows.
    """
    if rows.dtype.names is None:
        products: NDArray[np.float32] = np.vecdot(rows.astype(np.float32, copy=False), query)
        return products
    scaled: NDArray[np.float32] = np.vecdot(rows["codes"].astype(np.float32), query) * rows["step"]
    return scaled


def storage_of(rows: NDArray[Any]) -> Storage | None:
    """The form of these rows; None: not a form of this version."""
    if rows.ndim == 1 and rows.dtype.names == ("step", "codes"):
        return "int8" if rows.dtype == _int8_rows(dimensions_of(rows)) else None
    return next((s for s in STORAGES[:-1] if rows.ndim == _MATRIX and rows.dtype == np.dtype(s)), None)


def dimensions_of(rows: NDArray[Any]) -> int:
    """Length of the vectors in stored rows."""
    return int((rows if rows.dtype.names is None else rows["codes"]).shape[1])


def storage_for(choice: StorageChoice, *, rows: int, sources: Iterable[Storage] = ()) -> Storage:
    """The form of a segment of `rows` rows, merged from segments in the forms `sources`.

    Auto never chooses a wider form than a source's: the digits are lost.
    """
    if choice != "auto":
        return choice
    own: Storage = "float32" if rows <= EXACT_ROWS else "int8"
    return min((own, *sources), key=_BYTES.__getitem__)


def is_narrower(storage: Storage, than: Storage) -> bool:
    """Tell whether `storage` keeps fewer digits: a vector can be converted to it, but not back."""
    return _BYTES[storage] < _BYTES[than]


def _int8_rows(dimensions: int) -> np.dtype[np.void]:
    return np.dtype([("step", np.float32), ("codes", np.int8, (dimensions,))])
