"""Hits of an engine that does not know what is visible."""

from collections.abc import Iterable

import numpy as np
import pytest

from helix_query.recall.visibility import visible_hits
from helix_shared.artifacts.hits import MAX_HITS, Hits


class Engine:
    """Has so many memories, ordinal 0 the best; notes how many it was asked for."""

    def __init__(self, size: int) -> None:
        self.asked: list[int] = []
        self._size = size

    def search(self, limit: int) -> Hits:
        """The `limit` best."""
        self.asked.append(limit)
        ordinals = np.arange(min(limit, self._size), dtype=np.int64)
        return Hits(ordinals, 1.0 / (1.0 + ordinals.astype(np.float32)))


def found(
    engine: Engine, visible: Iterable[int], *, limit: int = 10, served: Iterable[int] = ()
) -> list[int]:
    """The ordinals of the visible hits."""
    seen = np.array([*visible], np.int64)
    hits = visible_hits(
        engine.search,
        lambda ordinals: np.isin(ordinals, seen),
        limit=limit,
        already_served=np.array([*served], np.int64),
    )
    return [int(one) for one in hits.ordinals]


@pytest.mark.parametrize("first", [5, 39, 45, 900, 4_000])
def test_invisible_hits_in_front_hide_no_visible_one(first: int) -> None:
    """However many of them there are, as far as an engine may be asked."""
    assert found(Engine(5_000), range(first, 5_000)) == [*range(first, first + 10)]


def test_it_is_asked_no_more_than_needed() -> None:
    """Once where the first are visible, and never for more than it may be."""
    engine = Engine(100)
    assert found(engine, range(100)) == [*range(10)]
    assert engine.asked == [10]
    assert found(Engine(30), [29]) == [29]
    endless = Engine(50_000)
    assert found(endless, []) == []
    assert endless.asked == [10, 40, 160, 640, 2_560, MAX_HITS]


def test_served_hits_come_on_top() -> None:
    """The ten asked for are others, also behind invisible ones."""
    assert found(Engine(100), range(100), served=range(30)) == [*range(40)]
    assert found(Engine(2_000), range(1_000, 2_000), served=range(990, 1_005)) == [*range(1_000, 1_015)]
