"""Which ordinals existed at a moment."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from helix_query.generations.indexes import as_of_index
from helix_query.generations.indexes.as_of_index import AsOfIndex
from helix_shared.artifacts.signals.columns import NO_TIME


def members(created: list[int], moment: int) -> set[int]:
    """Ordinals with a memory that existed at a moment."""
    found = AsOfIndex.of(np.array(created, np.int64)).by(moment)
    inside = {*range(min(found.below, len(created))), *found.also}
    return {ordinal for ordinal in inside if created[ordinal] != NO_TIME}


def test_ascending_ordinals_are_a_range_and_stragglers_are_listed() -> None:
    """Created at 10, 20, 15, 30: at 15 the first and the third exist."""
    found = AsOfIndex.of(np.array([10, 20, 15, 30], np.int64)).by(15)
    assert (found.below, found.also) == (1, (2,))


@given(
    created=st.lists(st.one_of(st.integers(-50, 50), st.just(NO_TIME)), max_size=40),
    moment=st.integers(-60, 60),
)
def test_exactly_the_created_ordinals_are_found(created: list[int], moment: int) -> None:
    """In any order of creation, with gaps of erased memories."""
    expected = {ordinal for ordinal, time in enumerate(created) if time != NO_TIME and time <= moment}
    assert members(created, moment) == expected


def test_many_stragglers_widen_the_range_instead() -> None:
    """All of them are inside; `Visibility` drops the others."""
    count = as_of_index.MAX_STRAGGLERS + 2
    created = [1_000, *range(count)]
    found = AsOfIndex.of(np.array(created, np.int64)).by(count)
    assert (found.below, found.also) == (count + 1, ())


def test_an_empty_generation_has_an_empty_range() -> None:
    """No ordinals at all."""
    found = AsOfIndex.of(np.empty(0, np.int64)).by(5)
    assert (found.below, found.also) == (0, ())
