"""Distinct numbers are those that `numpy.unique` finds."""

import numpy as np
import pytest

from helix_shared.artifacts.distinct import distinct


@pytest.mark.parametrize("parts", [[], [[]], [[3, 1, 3]], [[1, 2], [], [2, 5, 9], [-4]]])
def test_distinct_values_ascend(parts: list[list[int]]) -> None:
    """Of any number of parts, some of them empty."""
    arrays = [np.array(part, np.int64) for part in parts]
    expected = np.unique(np.concatenate([np.empty(0, np.int64), *arrays]))
    assert distinct(*arrays).tolist() == expected.tolist()
    assert distinct(*arrays).dtype == np.int64
