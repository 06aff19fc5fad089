"""The members: every tenant's ordinals, however they came."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from helix_shared.artifacts.members import Members

BATCHES = st.lists(st.lists(st.integers(1, 3), min_size=0, max_size=20), max_size=12)


@given(BATCHES)
def test_members_are_those_of_the_codes(batches: list[list[int]]) -> None:
    """Added in batches or at once: the same; earlier values stay as they were."""
    codes = np.array([code for batch in batches for code in batch], np.int64)
    grown, start, kept = Members.none(), 0, []
    for batch in batches:
        ordinals = np.arange(start, start + len(batch))
        grown = grown.with_new(ordinals, np.array(batch, np.int64))
        start += len(batch)
        kept.append((grown, start))
    for members, known in kept:
        for code in (1, 2, 3, 4):
            expected = np.flatnonzero(codes[:known] == code)
            assert members.of(code).tolist() == expected.tolist()
            assert members.count(code) == len(expected)


def test_a_tenant_has_few_pieces() -> None:
    """A thousand single additions leave about log2(1000) pieces, not a thousand."""
    members = Members.none()
    for ordinal in range(1_000):
        members = members.with_new(np.array([ordinal]), np.array([7]))
    assert len(members.pieces[7]) <= 11


def test_a_sample_is_spread_over_the_tenant() -> None:
    """About as many as asked, from the first to the last part; of a stranger none."""
    members = Members.none().with_new(np.arange(10_000), np.full(10_000, 7))
    sample = members.sample(7, 100)
    assert len(sample) == 100
    assert (sample.min(), sample.max()) == (0, 9_900)
    assert len(members.sample(8, 100)) == 0
