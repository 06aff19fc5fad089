from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from helix_consolidation.ledger.sequences import ProcessedSequences


def test_the_floor_stops_before_the_first_gap() -> None:
    """1, 2 and 4 processed: the floor is 2, 4 is above it."""
    processed = ProcessedSequences()
    for sequence in (4, 1, 2):
        processed.mark(sequence)
    assert processed.floor == 2
    assert processed.above == (4,)
    assert processed.has_gap
    assert 4 in processed
    assert 3 not in processed


def test_a_filled_gap_raises_the_floor_to_the_next_one() -> None:
    """The floor passes the sequences above the gap."""
    processed = ProcessedSequences(2, (4, 5, 7))
    processed.mark(3)
    assert processed.floor == 5
    assert processed.above == (7,)


def test_a_skipped_gap_counts_as_processed() -> None:
    """A sequence whose message is gone is not waited for."""
    processed = ProcessedSequences(2, (5, 6))
    processed.skip_to(4)
    assert processed.floor == 6
    assert not processed.has_gap


def test_skipping_back_changes_nothing() -> None:
    """The floor never goes back."""
    processed = ProcessedSequences(9)
    processed.skip_to(3)
    assert processed.floor == 9


@given(st.permutations(list(range(1, 12))), st.lists(st.integers(1, 11)))
def test_order_and_repeats_do_not_matter(order: list[int], repeats: list[int]) -> None:
    """In any order, with repeats, all sequences lead to the same state."""
    processed = ProcessedSequences()
    for sequence in [*order, *repeats]:
        processed.mark(sequence)
    assert processed.floor == 11
    assert processed.above == ()
