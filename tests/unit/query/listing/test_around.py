"""The time around a memory, where its caller sees few of the memories near to it."""

import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from helix_query.generations.sorted_run import SortedRun
from helix_query.listing.pages import MOST_SCANNED
from helix_query.listing.timeline import around
from helix_shared.errors import OverdueError

COUNT = 6 * MOST_SCANNED
MIDDLE = COUNT // 2
SEEN = (5, 20, MIDDLE, COUNT - 30, COUNT - 2)


def visible() -> Any:
    """One memory each microsecond, of which the caller sees five, each further away than a page reads."""
    ordinals = np.arange(COUNT)
    segment: Any = SimpleNamespace(ordinals=ordinals)
    return SimpleNamespace(
        snapshot=SimpleNamespace(ordinals_of=lambda _: np.array([MIDDLE])),
        signals=SimpleNamespace(occurred_at=ordinals, rows=ordinals),
        runs=lambda: [SortedRun(ordinals, ordinals.astype(np.int32), segment, 0)],
        is_visible=lambda some: np.isin(some, SEEN),
    )


@pytest.mark.parametrize(
    ("size", "found"), [(5, SEEN), (3, (20, MIDDLE, COUNT - 30)), (50, SEEN), (1, (MIDDLE,))]
)
def test_the_nearest_that_the_caller_sees_are_found_however_far_they_are(
    size: int, found: tuple[int, ...]
) -> None:
    """There is no next page to look for them."""
    assert tuple(around("a" * 32, visible(), size=size, until=time.monotonic() + 60).tolist()) == found


def test_a_search_that_takes_too_long_is_overdue() -> None:
    """It is no answer that there are none."""
    with pytest.raises(OverdueError):
        around("a" * 32, visible(), size=5, until=time.monotonic())
