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

    def members(self, groups: Ordinals) -> tuple[Ordinals, Ordinals]:
        """The memory of the cursor."""
        self.asked += groups.tolist()
        time.sleep(self._seconds * len(groups))
        return np.arange(len(groups)), np.full(len(groups), AFTER.ordinal)


def chunks(*_: Any, **__: Any) -> Iterator[Chunk]:
    """All memories, the newest first, in four chunks."""
    for part in np.split(np.arange(MEMORIES)[::-1], 4):
        yield Chunk(part, part, Cursor(int(part[-1]), int(part[-1])))


@pytest.fixture
def visible(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Memories whose times are their ordinals, all visible."""
    monkeypatch.setattr(groups, "chunks_of", chunks)
    signals = SimpleNamespace(occurred_at=np.arange(MEMORIES + 1))
    return SimpleNamespace(signals=signals, is_visible=lambda some: np.ones(len(some), bool), runs=list)


def test_a_group_of_an_earlier_page_is_looked_at_once(visible: Any) -> None:
    """Though each chunk has memories of it."""
    grouping = Groups(5)
    page, _ = groups.groups_page(visible, grouping, after=AFTER, size=50, until=time.monotonic() + 60)
    assert page == []
    assert sorted(grouping.asked) == list(range(5))


def test_the_deadline_is_checked_within_a_chunk(visible: Any) -> None:
    """A chunk of 100 groups does not hold a thread for all of them."""
    grouping = Groups(MEMORIES, seconds=0.02)
    with pytest.raises(OverdueError):
        groups.groups_page(visible, grouping, after=AFTER, size=50, until=time.monotonic() + 0.2)
    assert 0 < len(grouping.asked) <= groups.BATCH_GROUPS


def test_a_large_group_counts_its_latest_memories(visible: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """And its newest, which may be an early one of the log; a memory that is named twice counts once."""
    monkeypatch.setattr(groups, "MOST_COUNTED", 3)
    sizes = np.arange(1, 6)
    times = np.arange(MEMORIES + 1)
    times[0] = MEMORIES
    visible.signals.occurred_at = times

    class Sized(Groups):
        def members(self, groups: Ordinals) -> tuple[Ordinals, Ordinals]:
            """Group n has the memories n, n + 5, ... as many as its size, each twice."""
            places = np.repeat(np.arange(len(groups)), 2 * sizes[groups])
            ordinals = [np.repeat(group + 5 * np.arange(sizes[group]), 2) for group in groups.tolist()]
            return places, np.concatenate(ordinals)

    def first_five(*_: Any, **__: Any) -> Iterator[Chunk]:
        order = np.array([0, 4, 3, 2, 1])
        yield Chunk(times[order], order, Cursor(1, 1))

    monkeypatch.setattr(groups, "chunks_of", first_five)
    page, _ = groups.groups_page(visible, Sized(5), after=None, size=50, until=time.monotonic() + 60)
    # the latest three of the log, and the memory by which the group was found
    assert [(one.group, one.memories, one.first_at, one.last_at) for one in page] == [
        (0, 1, MEMORIES, MEMORIES),
        (4, 4, 4, 24),
        (3, 4, 3, 18),
        (2, 3, 2, 12),
        (1, 2, 1, 6),
    ]


def test_a_large_group_whose_newest_memory_came_early_is_on_one_page(
    visible: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Old events were imported after it: the latest of the log are all behind the cursor."""
    monkeypatch.setattr(groups, "MOST_COUNTED", 3)
    times = np.arange(MEMORIES + 1)
    times[0] = MEMORIES
    visible.signals.occurred_at = times

    class Large(Groups):
        def members(self, groups: Ordinals) -> tuple[Ordinals, Ordinals]:
            """The first of the log and the imported ones."""
            assert groups.tolist() == [0]
            return np.zeros(6, np.int64), np.array([0, 5, 10, 15, 20, 25])

    monkeypatch.setattr(
        groups,
        "chunks_of",
        lambda *_, **__: iter([Chunk(times[[25, 20]], np.array([25, 20]), Cursor(20, 20))]),
    )
    page, _ = groups.groups_page(
        visible, Large(5), after=Cursor(300, 300), size=50, until=time.monotonic() + 60
    )
    assert page == []


def test_a_large_group_counts_what_the_caller_sees(visible: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though the latest of the log are those of others."""
    monkeypatch.setattr(groups, "MOST_COUNTED", 4)
    monkeypatch.setattr(
        groups, "chunks_of", lambda *_, **__: iter([Chunk(*[np.array([5])] * 2, Cursor(5, 5))])
    )
    visible.is_visible = lambda ordinals: ordinals <= 5

    class Crowded(Groups):
        def members(self, groups: Ordinals) -> tuple[Ordinals, Ordinals]:
            """Six of the caller, then hundreds of others."""
            assert groups.tolist() == [0]
            return np.zeros(MEMORIES, np.int64), np.arange(MEMORIES)

    page, _ = groups.groups_page(visible, Crowded(5), after=None, size=50, until=time.monotonic() + 60)
    assert [(one.group, one.memories, one.first_at, one.last_at) for one in page] == [(0, 4, 2, 5)]
