"""Saved arrays: whole, or an error."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from helix_shared.artifacts.files.mapped import mapped
from helix_shared.artifacts.files.saved import save_array

_ROW = np.dtype([("ordinal", np.int64), ("flag", np.bool_)])


@contextmanager
def files_up_to(size: int) -> Iterator[None]:
    """Writing more than `size` bytes to a file fails, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("size", [4_000, 5_000, 8_096, 100_000])
def test_an_array_without_room_for_its_end_is_an_error(tmp_path: Path, size: int) -> None:
    """Also where only the last flush fails, of which `numpy.save` says nothing."""
    with files_up_to(4_096), pytest.raises(OSError, match="File too large"):
        save_array(tmp_path / "a.npy", np.ones(size, np.uint8))


@pytest.mark.parametrize(
    "array",
    [
        np.arange(5),
        np.empty(0, np.int32),
        np.zeros((3, 0), np.float32),
        np.ones((4, 3), np.float32)[:, ::2],
        np.asfortranarray(np.arange(6).reshape(2, 3)),
        np.array([(1, True), (2, False)], _ROW),
    ],
)
def test_a_saved_array_is_mapped_as_it_was(tmp_path: Path, array: NDArray[Any]) -> None:
    """Of any shape, order and type but objects."""
    save_array(tmp_path / "a.npy", array)
    found = np.load(tmp_path / "a.npy") if not array.size else mapped(tmp_path / "a.npy")
    assert (found.dtype, found.shape, found.tolist()) == (array.dtype, array.shape, array.tolist())
