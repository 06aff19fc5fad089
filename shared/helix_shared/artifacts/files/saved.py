"""Saved arrays: how every `.npy` file of a generation is written.

`numpy.save` writes through a C stream and ignores what its last flush says, so on a full disk it may leave a
file without its end and report nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray


def save_array(path: Path, array: NDArray[Any]) -> None:
    """Write an array, of any type but objects, to a file that is new or replaced.

    Raises:
        OSError: it cannot be written; the file may be incomplete.
    """
    with path.open("wb") as target:
        write_header(target, array.dtype, array.shape)
        write_values(target, array)


def write_header(target: BinaryIO, dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
    """Write the head of an array whose values follow row by row (`write_values`)."""
    header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_2_0(target, header)


def write_values(target: BinaryIO, array: NDArray[Any]) -> None:
    """Write the values of an array, or of some of its rows, without a copy where they are contiguous."""
    target.write(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
