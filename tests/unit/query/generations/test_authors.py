"""Who said what everyone may recall: read once for each memory, also over several generations."""

import time
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from helix_query.generations.indexes.authors import BATCH_RECORDS, Authors
from helix_shared.artifacts.signals.columns import code
from helix_shared.errors import OverdueError

USERS = ("ana", "ben", "")
ERASED = 4


class Signals:
    """Every third memory is of the same user; one has no record any more."""

    def __init__(self, *, seconds: float = 0.0) -> None:
        self.read: list[int] = []
        self._seconds = seconds

    def records(self, ordinals: NDArray[np.int64]) -> list[dict[str, Any]]:
        """As `signals.reader.Signals.records`."""
        time.sleep(self._seconds)
        self.read += ordinals.tolist()
        return [
            {"ordinal": one, "user_id": USERS[one % len(USERS)]} for one in ordinals.tolist() if one != ERASED
        ]


def test_each_memory_is_read_once() -> None:
    """However often and with whatever others it is asked for; what is added later is read then."""
    signals: Any = Signals()
    authors = Authors()
    assert authors.of(np.array([3, 1, 2]), signals).tolist() == [code("ana"), code("ben"), 0]
    assert authors.of(np.array([1, ERASED, 7]), signals).tolist() == [code("ben"), 0, code("ben")]
    assert authors.of(np.array([ERASED, 9_000, 3]), signals).tolist() == [0, code("ana"), code("ana")]
    assert authors.of(np.empty(0, np.int64), signals).tolist() == []
    assert signals.read == [3, 1, 2, ERASED, 7, 9_000]


def test_a_call_that_is_late_leaves_what_it_has_read_to_the_next() -> None:
    """Every call gets further, so a tenant with many shared memories is answered after a few."""
    signals: Any = Signals(seconds=0.02)
    authors, wanted = Authors(), np.arange(4 * BATCH_RECORDS)
    late = 0
    while True:
        try:
            found = authors.of(wanted, signals, deadline=time.monotonic() + 0.01)
        except OverdueError:
            late += 1
        else:
            break
    assert 1 <= late <= 4
    assert signals.read == wanted.tolist()
    assert found[:3].tolist() == [code("ana"), code("ben"), 0]
    with pytest.raises(OverdueError):
        authors.of(wanted + len(wanted), signals, deadline=time.monotonic())
