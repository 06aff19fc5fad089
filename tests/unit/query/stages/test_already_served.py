import numpy as np

from helix_query.recall.candidates import Ranked
from helix_query.recall.stages.diversify import first_new

RANKED = Ranked(np.array([4, 2, 7, 1, 9]), np.array([0.9, 0.8, 0.7, 0.6, 0.5]))


def left(has: list[int], count: int) -> tuple[list[int], int]:
    """Positions that stay, and the number dropped among them."""
    kept, number = first_new(RANKED, np.array(has, bool), count=count)
    assert len(kept.positions) == len(kept.scores)
    return kept.positions.tolist(), number


def test_the_next_ones_move_up() -> None:
    """Two are wanted, the best was served: the second and the third come."""
    assert left([1, 0, 0, 0, 0], 2) == ([2, 7], 1)


def test_only_those_that_would_have_been_returned_are_counted() -> None:
    """The last was served too, but is beyond what would have been returned."""
    assert left([1, 0, 0, 0, 1], 2) == ([2, 7], 1)
    assert left([0, 0, 0, 0, 1], 3) == ([4, 2, 7], 0)


def test_where_too_few_are_left_all_served_are_counted() -> None:
    """Each of them would have been one of the wanted."""
    assert left([1, 0, 1, 0, 1], 3) == ([2, 1], 3)
    assert left([1, 1, 1, 1, 1], 3) == ([], 5)


def test_without_any_served_the_first_come() -> None:
    """The usual case."""
    assert left([0, 0, 0, 0, 0], 3) == ([4, 2, 7], 0)
