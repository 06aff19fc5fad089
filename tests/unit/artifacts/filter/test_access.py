"""Who may see a memory: access lists are read from the records of memories."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from helix_shared.artifacts.filter.access import Access
from helix_shared.artifacts.signals.columns import code

LISTS = [("board",), ("team",), ("board", "team"), ()]
ERASED = 2
"""Its record is gone."""


class Signals:
    """Four memories of one tenant and nobody, each with an access list of its own."""

    tenant_code = np.full(len(LISTS), code("acme"), np.int64)
    owner_code = np.full(len(LISTS), code(""), np.int64)
    audience_code = np.array([11, 12, 13, 0])

    def __init__(self) -> None:
        self.read = list[int]()

    def records(self, ordinals: NDArray[np.int64]) -> list[dict[str, Any]]:
        """As `signals.reader.Signals.records`."""
        self.read += ordinals.tolist()
        return [{"ordinal": one, "audience": LISTS[one]} for one in ordinals.tolist() if one != ERASED]


@pytest.fixture
def access() -> Access:
    """A member of the board."""
    return Access("acme", ("",), ("*", "board"))


def test_a_list_without_a_record_is_not_open(access: Access) -> None:
    """The others are judged as they are."""
    signals: Any = Signals()
    seen = access.among(signals, np.arange(len(LISTS)), np.ones(len(LISTS), np.bool_))
    assert seen.tolist() == [True, False, False, True]


def test_a_list_is_read_once_for_a_call(access: Access) -> None:
    """However often memories with it are judged."""
    signals: Any = Signals()
    judged = dict[int, bool]()
    for _ in range(3):
        seen = access.among(signals, np.arange(2), np.ones(2, np.bool_), judged)
        assert seen.tolist() == [True, False]
    assert signals.read == [0, 1]
