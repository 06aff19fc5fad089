"""A stored array, mapped into memory: how every `.npy` file of a generation is opened."""

from __future__ import annotations

import mmap
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

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


def put_aside(array: NDArray[Any]) -> None:
    """Give back the pages of a whole mapped array that was copied: whoever looks again reads them again."""
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    if isinstance(base, mmap.mmap):
        base.madvise(mmap.MADV_DONTNEED)
