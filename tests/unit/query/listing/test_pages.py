"""Pages over the runs of several segments: in order, whole, and with few blocks."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from helix_query.generations.sorted_run import SortedRun
from helix_query.listing.cursor import Cursor
from helix_query.listing.pages import MOST_SCANNED, chunks_of, page_of

Rows = Sequence[tuple[int, int]]
"""Key and ordinal of the rows of a segment."""
LATER = float("inf")


def generation(segments: Sequence[Rows]) -> tuple[list[SortedRun], Any, list[tuple[int, int]]]:
    """Runs of these segments, the signals, and the rows that count: an ordinal's last one."""
    runs, start, last = [], 0, {}
    for rows in segments:
        ordered = sorted(rows, key=lambda row: row[1])
        for place, (key, ordinal) in enumerate(ordered):
            last[ordinal] = (start + place, key)
        order = sorted(range(len(ordered)), key=lambda place: ordered[place])
        segment: Any = SimpleNamespace(ordinals=np.array([one for _, one in ordered], np.int64))
        keys = np.array([ordered[place][0] for place in order], np.int64)
        runs.append(SortedRun(keys, np.array(order, np.int32), segment, start))
        start += len(ordered)
    places = np.full(1 + max(last, default=0), -1, np.int64)
    for ordinal, (place, _) in last.items():
        places[ordinal] = place
    live = sorted((key, ordinal) for ordinal, (_, key) in last.items())
    return runs, SimpleNamespace(rows=places), live


def every(ordinals: NDArray[np.int64]) -> NDArray[np.bool_]:
    """The caller sees all."""
    return np.ones(len(ordinals), np.bool_)


def segments(most_key: int) -> st.SearchStrategy[list[Rows]]:
    """Segments whose memories happened at the same times, and were partly written again."""
    row = st.tuples(st.integers(0, most_key), st.integers(0, 60))
    return st.lists(st.lists(row, max_size=40, unique_by=lambda one: one[1]), max_size=5)


@pytest.mark.parametrize("newest_first", [True, False])
@given(st.one_of(segments(2), segments(1_000)), st.integers(1, 9), st.integers(1, 4))
def test_pages_are_the_whole_order(newest_first: bool, rows: list[Rows], size: int, every_nth: int) -> None:
    """Also where many happened at once: each visible memory once, at its present time."""
    runs, signals, live = generation(rows)
    expected = [ordinal for _, ordinal in live if ordinal % every_nth == 0]
    found: list[int] = []
    after: Cursor | None = None
    while True:
        page = page_of(
            runs, signals, lambda ordinals: ordinals % every_nth == 0,
            after=after, newest_first=newest_first, size=size, until=LATER, most=7,
        )  # fmt: skip
        found += page.ordinals.tolist()
        if page.end is None:
            break
        after = page.end
    assert found == (expected[::-1] if newest_first else expected)


@pytest.mark.parametrize("newest_first", [True, False])
def test_a_filter_that_matches_nothing_reads_large_blocks(newest_first: bool) -> None:
    """Also where one segment has all the first rows: blocks once had 128 of them."""
    count = 20_000
    old = [(number, number) for number in range(count)]
    new = [(count + number, count + number) for number in range(count)]
    runs, signals, _ = generation([old, new])
    blocks: list[int] = []

    def none(ordinals: NDArray[np.int64]) -> NDArray[np.bool_]:
        blocks.append(len(ordinals))
        return np.zeros(len(ordinals), np.bool_)

    page = page_of(runs, signals, none, after=None, newest_first=newest_first, size=100, until=LATER)
    assert blocks == [256, 512, 1_024, 2_048, 4_096, 8_192, 256]
    assert sum(blocks) == MOST_SCANNED
    last = 2 * count - MOST_SCANNED if newest_first else MOST_SCANNED - 1
    assert page.end == Cursor(last, last)


def test_a_block_has_both_rows_of_a_memory_that_was_written_again() -> None:
    """At the end of a block, too: a cursor passes both."""
    runs, signals, _ = generation([[(5, one) for one in range(600)], [(5, one) for one in range(600)]])
    chunks = list(chunks_of(runs, signals, every, after=None, newest_first=True, first=1, until=LATER))
    given_out = [ordinal for chunk in chunks for ordinal in chunk.ordinals.tolist()]
    assert given_out == list(range(599, -1, -1))
