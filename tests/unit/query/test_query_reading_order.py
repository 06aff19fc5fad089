from types import SimpleNamespace
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from helix_query.reading_order import ReadingOrder
from helix_shared.artifacts.signals import code


def order_of(rows: list[tuple[str, str, int]]) -> ReadingOrder:
    """Rows of tenant, session and sequence, by ordinal."""
    tenants, sessions, sequences = (list(column) for column in zip(*rows, strict=True))
    columns: Any = SimpleNamespace(
        tenant_code=np.array([code(tenant) for tenant in tenants], np.int64),
        session_code=np.array([code(session) for session in sessions], np.int64),
        stream_sequence=np.array(sequences, np.int64),
    )
    return ReadingOrder.of(columns)


def test_a_session_stands_in_the_order_of_its_events() -> None:
    """Events overtook each other on their way: sequence decides, then ordinal."""
    order = order_of([("t", "s", 5), ("t", "other", 1), ("t", "s", 2), ("t", "s", 7), ("t", "s", 5)])
    stretch = order.around(0, reach=9)
    assert (stretch.ordinals.tolist(), stretch.place, stretch.is_whole) == ([2, 0, 4, 3], 1, True)


def test_a_long_session_is_cut_around_the_memory() -> None:
    """Only so far is looked, whatever its length."""
    stretch = order_of([("t", "s", n) for n in range(50)]).around(20, reach=3)
    assert (stretch.ordinals.tolist(), stretch.place) == ([17, 18, 19, 20, 21, 22, 23], 3)
    assert not stretch.is_whole


def test_without_a_session_the_pieces_of_one_event_stand_together() -> None:
    """A document of three pieces, and another one."""
    order = order_of([("t", "", 4), ("t", "", 4), ("t", "", 9), ("t", "", 4)])
    assert order.around(1, reach=9).ordinals.tolist() == [0, 1, 3]
    assert order.around(2, reach=9).ordinals.tolist() == [2]


rows = st.tuples(st.sampled_from("ab"), st.sampled_from(["", "s", "u", "v"]), st.integers(0, 12))


@given(given_rows=st.lists(rows, min_size=1, max_size=30))
def test_a_stretch_is_the_session_of_one_tenant_in_order(given_rows: list[tuple[str, str, int]]) -> None:
    """As worked out from the rows by sorting them."""
    order = order_of(given_rows)
    for ordinal, (tenant, session, sequence) in enumerate(given_rows):
        together = [
            (row[2], other)
            for other, row in enumerate(given_rows)
            if row[:2] == (tenant, session) and (session or row[2] == sequence)
        ]
        stretch = order.around(ordinal, reach=100)
        assert stretch.ordinals.tolist() == [other for _, other in sorted(together)]
        assert stretch.ordinals[stretch.place] == ordinal
        assert stretch.is_whole
