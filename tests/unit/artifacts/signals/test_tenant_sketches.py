"""Tenant sketches: ordinals and sketches of every tenant, in blocks."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from helix_shared.artifacts.signals.sketches import (
    SketchQuery,
    differing_signs,
    differing_weight,
    sketches_of,
)
from helix_shared.artifacts.signals.tenant_sketches import ESTIMATED, TenantSketches

WORDS = 2
BATCHES = st.lists(st.lists(st.integers(1, 3), min_size=0, max_size=20), max_size=12)


def drawn_sketches(seed: int, count: int) -> np.ndarray:
    """Sketches of random vectors."""
    vectors = np.random.default_rng(seed).normal(size=(count, 64 * WORDS)).astype(np.float32)
    return sketches_of(vectors)


@given(BATCHES)
def test_blocks_hold_the_ordinals_of_their_tenant(batches: list[list[int]]) -> None:
    """Batches give the same as one addition; earlier values do not change."""
    codes = np.array([code for batch in batches for code in batch], np.int64)
    sketches = drawn_sketches(1, len(codes))
    grown, start, kept = TenantSketches.none(), 0, []
    for batch in batches:
        ordinals = np.arange(start, start + len(batch))
        grown = grown.with_new(ordinals, np.array(batch, np.int64), sketches[ordinals])
        start += len(batch)
        kept.append((grown, start))
    for stored, size in kept:
        for code in (1, 2, 3, 4):
            expected = np.flatnonzero(codes[:size] == code)
            assert stored.of(code).tolist() == expected.tolist()
            assert stored.count(code) == len(expected)


@given(
    seed=st.integers(0, 2**32 - 1),
    cuts=st.lists(st.integers(0, 300), max_size=5),
    count=st.integers(1, 40) | st.integers(1, 320),
    some=st.booleans(),
)
def test_the_nearest_are_the_first_of_a_sort(seed: int, cuts: list[int], count: int, some: bool) -> None:
    """First by signs, then by estimate, ties by ordinal, for any division into blocks."""
    drawn = np.random.default_rng(seed)
    stored = drawn_sketches(seed, 301)
    query = SketchQuery.of(drawn.normal(size=64 * WORDS).astype(np.float32))
    stored[:150] = stored[drawn.integers(0, 4, 150)]
    codes = drawn.integers(1, 3, 301)
    # ordinals ascend within a block, blocks are in any order
    edges = [0, *sorted(cuts), 301]
    batches = [np.arange(first, last) for first, last in itertools.pairwise(edges)]
    sketches = TenantSketches.none()
    for batch in drawn.permutation(len(batches)):
        ordinals = batches[batch]
        sketches = sketches.with_new(ordinals, codes[ordinals], np.zeros((len(ordinals), WORDS), np.uint64))
    sketches = sketches.with_changed(np.arange(301), codes, stored)
    rows = sketches.of(1)
    among = drawn.random(len(rows)) < 0.7 if some else None
    expected = rows if among is None else rows[among]
    for measure, most in ((differing_signs, ESTIMATED * count), (differing_weight, count)):
        apart = measure(np.ascontiguousarray(stored[expected].T), query)
        expected = expected[np.lexsort((expected, apart))[:most]]
    assert sketches.nearest(1, query, count, among).tolist() == sorted(expected.tolist())


def test_changed_sketches_do_not_change_earlier_values() -> None:
    """Only the block of the changed memory is copied."""
    before = TenantSketches.none().with_new(np.arange(9), np.full(9, 7), drawn_sketches(2, 9))
    before = before.with_new(np.array([9]), np.array([7]), drawn_sketches(3, 1))
    other = drawn_sketches(4, 2)
    after = before.with_changed(np.array([9, 12]), np.array([7, 7]), other)
    assert after.blocks[7][0] is before.blocks[7][0]
    assert after.blocks[7][1].sketches[:, 0].tolist() == other[0].tolist()
    assert before.blocks[7][1].sketches[:, 0].tolist() == drawn_sketches(3, 1)[0].tolist()
    assert after.with_changed(np.array([9]), np.array([7]), other[:1]).blocks[7][1] is after.blocks[7][1]


def test_a_tenant_has_few_blocks() -> None:
    """A thousand single additions leave about log2(1000) blocks."""
    sketches, sketch = TenantSketches.none(), drawn_sketches(5, 1)
    for ordinal in range(1_000):
        sketches = sketches.with_new(np.array([ordinal]), np.array([7]), sketch)
    assert len(sketches.blocks[7]) <= 11


def test_a_sample_is_spread_over_the_tenant() -> None:
    """About `count` ordinals from all parts; none for an unknown tenant."""
    sketches = TenantSketches.none().with_new(
        np.arange(10_000), np.full(10_000, 7), drawn_sketches(6, 10_000)
    )
    sample = sketches.sample(7, 100)
    assert len(sample) == 100
    assert (sample.min(), sample.max()) == (0, 9_900)
    assert len(sketches.sample(8, 100)) == 0
