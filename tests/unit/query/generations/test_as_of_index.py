"""Which ordinals existed at a moment."""

from types import SimpleNamespace
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from helix_query.generations.indexes import as_of_index
from helix_query.generations.indexes.as_of_index import AsOfIndex
from helix_query.generations.snapshot import Snapshot
from helix_shared.artifacts.signals.columns import NO_TIME
from helix_shared.moments import moment_of


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


def test_an_imported_history_is_a_run() -> None:
    """Events of today came first, then those of years, the oldest first: half of these years are one run."""
    count = 2 * as_of_index.MAX_STRAGGLERS + 2
    found = AsOfIndex.of(np.array([count, count, *range(count)], np.int64)).by(count // 2)
    assert (found.below, found.also, found.runs) == (0, (), ((2, count // 2 + 2),))


def test_many_runs_are_joined_over_the_smallest_gaps() -> None:
    """All stragglers are inside; `Visibility` drops the others."""
    count, late = as_of_index.MAX_STRAGGLERS, 10**6
    parts = [np.append(np.arange(count), [late] * (gap + 1)) for gap in range(as_of_index.MAX_RUNS + 2)]
    created = np.concatenate([[late], *parts])
    found = AsOfIndex.of(created).by(count)
    assert found.below == 0
    assert len(found.runs) == as_of_index.MAX_RUNS
    inside = np.zeros(len(created), bool)
    for first, last in found.runs:
        inside[first : last + 1] = True
    assert inside[created <= count].all()
    # the gaps of one and of two
    assert np.count_nonzero(inside & (created > count)) == 3


def test_the_last_sequence_of_a_moment_is_exact_however_many_stragglers_there_are() -> None:
    """A context that was completed later would be shown of that moment."""
    count = as_of_index.MAX_STRAGGLERS + 2
    created = np.array([10, 10_000, *range(count)])
    sequences = np.array([1, 90_000, *range(2, count + 2)])
    signals: Any = SimpleNamespace(stream_sequence=sequences)
    index = SimpleNamespace(value=AsOfIndex.of(created))
    snapshot: Any = SimpleNamespace(as_of_index=index, generation=SimpleNamespace(signals=signals))
    assert Snapshot.last_sequence_at(snapshot, moment_of(count)) == count + 1


def test_an_empty_generation_has_an_empty_range() -> None:
    """No ordinals at all."""
    found = AsOfIndex.of(np.empty(0, np.int64)).by(5)
    assert (found.below, found.also) == (0, ())
