"""The order inside sessions: equal to a sort of all rows, at the cost of the part asked for."""

import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helix_query.generations.indexes.session_order import SessionOrder, SessionPart
from helix_shared.artifacts.signals.columns import MATRICES, RECORD, SCALARS, TOKEN_CODES, blank, code
from helix_shared.artifacts.signals.reader import Signals
from helix_shared.artifacts.signals.segments import write_segment
from tests.examples import examples

Row = tuple[str, str, int]
"""Tenant, session and sequence."""


def blank_columns(count: int) -> dict[str, Any]:
    """Empty columns of a segment."""
    columns: dict[str, Any] = {name: blank(name, (count,)) for name in SCALARS}
    columns |= {name: np.zeros((count, 1), dtype) for name, dtype in MATRICES.items()}
    return columns | {RECORD: np.full(count, b"{}", object), TOKEN_CODES: np.full(count, b"", object)}


def append(
    folder: Path, ordinals: Sequence[int], rows: Sequence[Row], *, results: Sequence[int] | None = None
) -> None:
    """Write rows as the next segment; `results` are codes of the questions they answer, 0 for none."""
    tenants, sessions, sequences = zip(*rows, strict=True)
    columns = blank_columns(len(rows))
    columns["tenant_code"] = np.array([code(tenant) for tenant in tenants])
    columns["session_code"] = np.array([code(session) for session in sessions])
    columns["stream_sequence"] = np.array(sequences)
    if results is not None:
        columns["answers_code"] = np.array(results)
    number = len(list(folder.glob("seg-*"))) + 1
    write_segment(folder / f"seg-{number:08d}", np.array(ordinals), columns, storage="float32")


class Order:
    """Rows by ordinal in segments, and their order."""

    def __init__(self, folder: Path, *segments: Sequence[tuple[int, Row]]) -> None:
        for segment in segments:
            append(folder, [ordinal for ordinal, _ in segment], [row for _, row in segment])
        self.signals = Signals.open(folder)
        self.order = SessionOrder.of(self.signals)

    def around(self, ordinal: int, reach: int) -> SessionPart:
        """The part of a session around a memory."""
        return self.order.around(ordinal, self.signals, reach=reach)


def test_a_session_is_ordered_by_event(tmp_path: Path) -> None:
    """Events may arrive out of order: the sequence decides, then the ordinal."""
    rows = [("t", "s", 5), ("t", "other", 1), ("t", "s", 2), ("t", "s", 7), ("t", "s", 5)]
    part = Order(tmp_path, list(enumerate(rows))).around(0, reach=9)
    assert (part.ordinals.tolist(), part.place, part.is_whole) == ([2, 0, 4, 3], 1, True)


def test_a_long_session_is_cut_around_the_memory(tmp_path: Path) -> None:
    """To `reach` memories on each side, for sessions of any length."""
    order = Order(tmp_path, [(n, ("t", "s", n)) for n in range(50)])
    part = order.around(20, reach=3)
    assert (part.ordinals.tolist(), part.place) == ([17, 18, 19, 20, 21, 22, 23], 3)
    assert not part.is_whole
    assert not order.around(2, reach=3).is_whole
    assert order.around(0, reach=0).ordinals.tolist() == [0]


def test_without_a_session_the_pieces_of_one_event_are_together(tmp_path: Path) -> None:
    """A document of three pieces, and another one."""
    order = Order(tmp_path, list(enumerate([("t", "", 4), ("t", "", 4), ("t", "", 9), ("t", "", 4)])))
    assert order.around(1, reach=9).ordinals.tolist() == [0, 1, 3]
    assert order.around(2, reach=9).ordinals.tolist() == [2]


def test_replaced_rows_are_left_out(tmp_path: Path) -> None:
    """However many there are: the part still has `reach` memories on each side."""
    moved = [(n, ("t", "elsewhere", 100 + n)) for n in range(11, 31)]
    order = Order(tmp_path, [(n, ("t", "s", n)) for n in range(50)], moved)
    assert order.around(10, reach=2).ordinals.tolist() == [8, 9, 10, 31, 32]
    assert order.around(31, reach=2).ordinals.tolist() == [9, 10, 31, 32, 33]
    assert order.around(12, reach=2).ordinals.tolist() == [11, 12, 13, 14]


rows = st.tuples(st.sampled_from("ab"), st.sampled_from(["", "s", "u", "v"]), st.integers(0, 12))
segments = st.lists(
    st.dictionaries(st.integers(0, 20), rows, min_size=1, max_size=15), min_size=1, max_size=4
)


@settings(max_examples=examples(60), deadline=None)
@given(written=segments, reach=st.integers(0, 6))
def test_a_part_equals_a_sort_of_all_rows(written: list[dict[int, Row]], reach: int) -> None:
    """Sessions of tenants never mix; of an ordinal in several segments the last row counts."""
    last = {ordinal: row for segment in written for ordinal, row in segment.items()}
    with tempfile.TemporaryDirectory() as folder:
        order = Order(Path(folder), *(sorted(segment.items()) for segment in written))
    for ordinal, (tenant, session, sequence) in last.items():
        together = sorted(
            (row[2], other)
            for other, row in last.items()
            if row[:2] == (tenant, session) and (session or row[2] == sequence)
        )
        place = together.index((sequence, ordinal))
        first, end = max(0, place - reach), place + reach + 1
        part = order.around(ordinal, reach=reach)
        assert part.ordinals.tolist() == [other for _, other in together[first:end]]
        assert part.place == place - first
        assert part.is_whole == (first == 0 and end >= len(together))


def test_answers_are_found_by_their_questions(tmp_path: Path) -> None:
    """In all segments, far behind the question; not in a row that was replaced, nor what answers nothing."""
    append(tmp_path, range(6), [("t", "s", n) for n in range(6)], results=[0, 71, 0, 72, 71, 73])
    append(tmp_path, [3, 9], [("t", "s", 3), ("t", "s", 90)], results=[0, 73])
    signals = Signals.open(tmp_path)
    order = SessionOrder.of(signals)

    def answering(*codes: int) -> list[int]:
        return order.answers_to(np.array(codes, np.int64), signals).tolist()

    assert answering(71) == [1, 4]
    assert answering(73, 71, 73) == [1, 4, 5, 9]
    assert answering(72) == answering(99) == answering() == []


def test_a_segment_is_sorted_once(tmp_path: Path) -> None:
    """The next generation reuses the order of the segments that it shares with the one before."""
    append(tmp_path, range(5), [("t", "s", n) for n in range(5)])
    first = Signals.open(tmp_path)
    before = SessionOrder.of(first)
    append(tmp_path, [5], [("t", "s", 5)])
    second = Signals.open(tmp_path, previous=first)
    order = SessionOrder.of(second, previous=before)
    assert order.segments[0] is before.segments[0]
    assert order.around(5, second, reach=2).ordinals.tolist() == [3, 4, 5]
    other = Signals.open(tmp_path)
    assert SessionOrder.of(other, previous=before).segments[0] is not before.segments[0]


def _median_seconds(work: Callable[[], object], *, times: int) -> float:
    taken = []
    for _ in range(times):
        started = time.perf_counter()
        work()
        taken.append(time.perf_counter() - started)
    return statistics.median(taken)


@pytest.mark.parametrize("session_of", [lambda n: n // 40, lambda _n: 1], ids=["short", "one session"])
def test_lookup_and_swap_cost_far_less_than_a_sort(tmp_path: Path, session_of: Callable[[int], int]) -> None:
    """With 200,000 memories, also if one session holds them all."""
    count = 200_000
    columns, rng = blank_columns(count), np.random.default_rng(0)
    columns["session_code"] = np.array([session_of(n) for n in rng.permutation(count).tolist()]) + 1
    columns["stream_sequence"] = rng.permutation(count)
    write_segment(tmp_path / "seg-00000001", np.arange(count), columns, storage="float32")
    first = Signals.open(tmp_path)
    before = SessionOrder.of(first)
    append(tmp_path, [count], [("t", "s", count)])
    second = Signals.open(tmp_path, previous=first)
    whole = _median_seconds(lambda: SessionOrder.of(second), times=3)
    swap = _median_seconds(lambda: SessionOrder.of(second, previous=before), times=9)
    order = SessionOrder.of(second, previous=before)
    look_up = _median_seconds(lambda: order.around(count // 2, second, reach=8), times=99)
    assert swap < whole / 20
    assert look_up < whole / 20
