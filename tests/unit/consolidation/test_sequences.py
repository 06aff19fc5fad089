from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from helix_consolidation.ledger.sequences import AnsweredSequences


def test_the_floor_stops_before_the_first_hole() -> None:
    """1, 2 and 4 answered: everything up to 2 is in, 4 waits above."""
    answered = AnsweredSequences()
    for sequence in (4, 1, 2):
        answered.answer(sequence)
    assert answered.floor == 2
    assert answered.above == (4,)
    assert answered.is_stuck
    assert 4 in answered
    assert 3 not in answered


def test_a_filled_hole_lets_the_floor_run_to_the_next_one() -> None:
    """The floor passes everything that waited."""
    answered = AnsweredSequences(2, (4, 5, 7))
    answered.answer(3)
    assert answered.floor == 5
    assert answered.above == (7,)


def test_a_skipped_gap_counts_as_answered() -> None:
    """A sequence whose message is gone is never waited for."""
    answered = AnsweredSequences(2, (5, 6))
    answered.skip_to(4)
    assert answered.floor == 6
    assert not answered.is_stuck


def test_skipping_back_changes_nothing() -> None:
    """The floor never goes back."""
    answered = AnsweredSequences(9)
    answered.skip_to(3)
    assert answered.floor == 9


@given(st.permutations(list(range(1, 12))), st.lists(st.integers(1, 11)))
def test_order_and_repeats_do_not_matter(order: list[int], repeats: list[int]) -> None:
    """However the sequences come, all of them answered is the same state."""
    answered = AnsweredSequences()
    for sequence in [*order, *repeats]:
        answered.answer(sequence)
    assert answered.floor == 11
    assert answered.above == ()
