"""Later pages of groups: each group is looked at once, and the deadline holds within a chunk."""

import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from helix_query.listing import groups
from helix_query.listing.cursor import Cursor
from helix_query.listing.pages import Chunk
from helix_shared.errors import OverdueError

Ordinals = NDArray[np.int64]

MEMORIES = 400
AFTER = Cursor(MEMORIES, MEMORIES)


class Groups:
    """Memory n belongs to group n modulo `count`, and every group has the memory of the cursor too."""

    def __init__(self, count: int, *, seconds: float = 0.0) -> None:
        self._count = count
        self._seconds = seconds
        self.asked = list[int]()

    def groups_of(self, ordinals: Ordinals) -> tuple[Ordinals, Ordinals]:
        """One group each."""
        return np.arange(len(ordinals)), ordinals % self._count

    def members(self, group: int, ordinal: int) -> Ordinals:
        """The memory, and that of the cursor."""
        self.asked.append(group)
        time.sleep(self._seconds)
        return np.array([ordinal, AFTER.ordinal])


def chunks(*_: Any, **__: Any) -> Iterator[Chunk]:
    """All memories, the newest first, in four chunks."""
    for part in np.split(np.arange(MEMORIES)[::-1], 4):
        yield Chunk(part, part, Cursor(int(part[-1]), int(part[-1])))


@pytest.fixture
def visible(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Memories whose times are their ordinals, all visible."""
    monkeypatch.setattr(groups, "chunks_of", chunks)
    signals = SimpleNamespace(occurred_at=np.arange(MEMORIES + 1))
    return SimpleNamespace(signals=signals, among=lambda some: np.ones(len(some), bool), runs=list)


def test_a_group_of_an_earlier_page_is_looked_at_once(visible: Any) -> None:
    """Though each chunk has memories of it."""
    grouping = Groups(5)
    page, _ = groups.groups_page(visible, grouping, after=AFTER, size=50, until=time.monotonic() + 60)
    assert page == []
    assert sorted(grouping.asked) == list(range(5))


def test_the_deadline_is_checked_before_each_group(visible: Any) -> None:
    """A chunk of 100 groups does not hold a thread for all of them."""
    grouping = Groups(MEMORIES, seconds=0.02)
    with pytest.raises(OverdueError):
        groups.groups_page(visible, grouping, after=AFTER, size=50, until=time.monotonic() + 0.2)
    assert 0 < len(grouping.asked) < 50
