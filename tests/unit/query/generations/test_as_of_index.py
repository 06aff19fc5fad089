import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from helix_query.generations import as_of_index
from helix_query.generations.as_of_index import AsOfIndex
from helix_shared.artifacts.signals.columns import NO_TIME


def members(created: list[int], moment: int) -> set[int]:
    """Ordinals known at a moment, those without a memory left out."""
    known = AsOfIndex.of(np.array(created, np.int64)).created_by(moment)
    inside = {*range(min(known.below, len(created))), *known.also}
    return {ordinal for ordinal in inside if created[ordinal] != NO_TIME}


def test_what_rises_is_a_range_and_what_came_late_is_named() -> None:
    """Created at 10, 20, 15, 30: at 15 the first and the third were known."""
    known = AsOfIndex.of(np.array([10, 20, 15, 30], np.int64)).created_by(15)
    assert (known.below, known.also) == (1, (2,))


@given(
    created=st.lists(st.one_of(st.integers(-50, 50), st.just(NO_TIME)), max_size=40),
    moment=st.integers(-60, 60),
)
def test_exactly_what_was_created_by_then_is_known(created: list[int], moment: int) -> None:
    """In any order, holes of erased memories included."""
    expected = {ordinal for ordinal, time in enumerate(created) if time != NO_TIME and time <= moment}
    assert members(created, moment) == expected


def test_many_stragglers_widen_the_range_instead() -> None:
    """All of them are inside; that others are, too, is for `alive` to see."""
    count = as_of_index.MOST_NAMED + 2
    created = [1_000, *range(count)]
    known = AsOfIndex.of(np.array(created, np.int64)).created_by(count)
    assert (known.below, known.also) == (count + 1, ())


def test_nothing_is_known_of_nothing() -> None:
    """A generation without memories."""
    known = AsOfIndex.of(np.empty(0, np.int64)).created_by(5)
    assert (known.below, known.also) == (0, ())
