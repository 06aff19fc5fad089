"""Who may see a memory: access lists are read from the records of memories."""

import gc
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
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
    seen = access.restrict(signals, np.arange(len(LISTS)), np.ones(len(LISTS), np.bool_))
    assert seen.tolist() == [True, False, False, True]


def test_a_list_is_read_once_for_a_call(access: Access) -> None:
    """However often memories with it are judged."""
    signals: Any = Signals()
    judged = dict[int, bool]()
    for _ in range(3):
        seen = access.restrict(signals, np.arange(2), np.ones(2, np.bool_), judged)
        assert seen.tolist() == [True, False]
    assert signals.read == [0, 1]


@pytest.fixture
def quick_switches() -> Iterator[None]:
    """Threads take turns after microseconds, not after 5 ms, and wherever the collector runs."""
    usual, threshold = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(1e-6)
    gc.set_threshold(50)
    gc.callbacks.append(_collecting)
    yield
    gc.callbacks.remove(_collecting)
    gc.set_threshold(*threshold)
    sys.setswitchinterval(usual)


def _collecting(_phase: str, _info: dict[str, int]) -> None:
    sum(range(50))


@pytest.mark.usefixtures("quick_switches")
def test_several_threads_judge_for_one_call(access: Access) -> None:
    """As the channels of one recall do: what one of them reads does not disturb another."""
    count, threads = 4_000, 4
    signals: Any = SimpleNamespace(
        tenant_code=np.full(count, code("acme"), np.int64),
        owner_code=np.full(count, code(""), np.int64),
        audience_code=np.arange(1, count + 1),
        records=lambda ordinals: [
            {"ordinal": one, "audience": ["team" if one % 2 else "board"]} for one in ordinals.tolist()
        ],
    )

    def judge(seed: int, judged: dict[int, bool]) -> bool:
        drawn = np.random.default_rng(seed)
        pages = (drawn.integers(0, count, 40) for _ in range(60))
        return all(
            (access.restrict(signals, page, np.ones(len(page), np.bool_), judged) == (page % 2 == 0)).all()
            for page in pages
        )

    with ThreadPoolExecutor(threads) as pool:
        for one in range(20):
            calls: list[dict[int, bool]] = [{}] * threads
            assert all(pool.map(judge, range(one * threads, (one + 1) * threads), calls))
