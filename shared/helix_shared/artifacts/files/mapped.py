"""A stored array, mapped into memory: how every `.npy` file of a generation is opened."""

from __future__ import annotations

import mmap
import os
import threading
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

WARMED_SHARE: Final = 0.25
"""Of the machine's memory: what is larger is not read in advance, as it would push out other pages."""

# numpy reads a header with ast.literal_eval, and Python 3.11 counts the depth of all threads' syntax trees
# together: two headers at once may end in "SystemError: AST constructor recursion depth mismatch".
_one_header_at_a_time = threading.Lock()


def mapped(path: Path) -> NDArray[Any]:
    """The array in `path`, read where it is looked at.

    Raises:
        OSError: the file cannot be opened.
        ValueError: it holds no array.
    """
    with _one_header_at_a_time:
        array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    return array.view(np.ndarray)


def release_pages(array: NDArray[Any]) -> None:
    """Give back the pages of a whole mapped array that was copied: whoever looks again reads them again."""
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    if isinstance(base, mmap.mmap):
        base.madvise(mmap.MADV_DONTNEED)


def warm(array: NDArray[Any]) -> None:
    """Look at every page of a mapped array, so that whoever reads rows of it waits for no page fault.

    A gigabyte takes about .15 s when it is in memory already, and 6 ms the next time; other threads go on.
    Nothing is done for an array larger than `WARMED_SHARE` of the machine's memory.
    """
    memory = os.sysconf("SC_PHYS_PAGES") * mmap.PAGESIZE
    if 0 < array.nbytes <= WARMED_SHARE * memory:
        array.reshape(-1).view(np.uint8)[:: mmap.PAGESIZE].max()
