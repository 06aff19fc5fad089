"""Mapped arrays: how every `.npy` file of a generation is opened.

A mapping holds no file handle, unlike `mmap` of Python and so `numpy.memmap`, which keep one open: a
generation has hundreds of such files, and a process may serve many generations (0127).
"""

from __future__ import annotations

import ctypes
import io
import math
import mmap
import os
import struct
import threading
from functools import lru_cache
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

WARMED_SHARE: Final = 0.25
"""Share of the machine's memory above which an array is not warmed, since it would evict other pages."""

# numpy parses a header with ast.literal_eval, and Python 3.11 counts the recursion depth of all threads
# together, so two threads may fail with "SystemError: AST constructor recursion depth mismatch".
_one_header_at_a_time = threading.Lock()

_HEADER_READERS: Final = {
    (1, 0): ("<H", np.lib.format.read_array_header_1_0),
    (2, 0): ("<I", np.lib.format.read_array_header_2_0),
}
"""By version of the array format: how the length of the header is written, and what reads both."""

_madvise = ctypes.CDLL(None).madvise
_madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)


def mapped(path: Path) -> NDArray[Any]:
    """The array in `path`; its pages are read when they are used.

    Raises:
        OSError: the file cannot be opened.
        ValueError: the file holds no array, or one of objects.
    """
    with path.open("rb") as file:
        shape, is_fortran, dtype = _read_header(file)
        begin = file.tell()
    with pa.memory_map(str(path)) as file:
        # it keeps the mapping when the file is closed; a buffer of all values would have them read at once
        first, end = file.read_buffer(1), file.size()
    values = pa.foreign_buffer(first.address + begin, end - begin, base=first)
    array = np.frombuffer(values, dtype, count=math.prod(shape))
    return array.reshape(shape, order="F" if is_fortran else "C")


def _read_header(file: BinaryIO) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, order and type of the values that follow."""
    version = np.lib.format.read_magic(file)
    if version not in _HEADER_READERS:
        raise ValueError(f"version {version} of the array format is not read")
    length = struct.Struct(_HEADER_READERS[version][0])
    written = file.read(length.size)
    if len(written) == length.size:
        written += file.read(*length.unpack(written))
    with _one_header_at_a_time:
        return _parsed(version, written)


@lru_cache(maxsize=1024)
def _parsed(version: tuple[int, int], written: bytes) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """What a header says; arrays of one shape and type have the same one, and parsing it takes 0.1 ms."""
    _, read = _HEADER_READERS[version]
    return read(io.BytesIO(written))


def release_pages(array: NDArray[Any]) -> None:
    """Release the pages of the mapped file behind an array; they are read again when they are used."""
    _advise(array, mmap.MADV_DONTNEED)


def read_single_pages(array: NDArray[Any]) -> None:
    """From now on a page of the mapped file behind an array is read without those around it.

    For arrays of which few rows are used at a time, in places all over the file. The kernel would read up to
    128 KB around each. `warm` still reads all at once.
    """
    _advise(array, mmap.MADV_RANDOM)


def warm(array: NDArray[Any]) -> None:
    """Read every page of a mapped array, so that later reads cause no page fault.

    A gigabyte in the page cache takes about .15 s, and 6 ms the next time. Other threads can run meanwhile.
    An array larger than `WARMED_SHARE` of the machine's memory is skipped.
    """
    memory = os.sysconf("SC_PHYS_PAGES") * mmap.PAGESIZE
    if 0 < array.nbytes <= WARMED_SHARE * memory:
        _advise(array, mmap.MADV_WILLNEED)
        array.reshape(-1).view(np.uint8)[:: mmap.PAGESIZE].max()


def _advise(array: NDArray[Any], advice: int) -> None:
    """Advise the kernel about the whole mapped file behind an array; nothing where there is none."""
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    if isinstance(base, pa.Buffer):
        # a call through ctypes lets other threads run
        start = base.address - base.address % mmap.PAGESIZE
        _madvise(start, base.address + base.size - start, advice)
