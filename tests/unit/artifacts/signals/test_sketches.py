"""Sketches: packed signs, selection of the smallest distances, and the weighted estimate."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from helix_shared.artifacts.signals import sketches
from helix_shared.artifacts.signals.columns import signals_of
from helix_shared.artifacts.signals.reader import Signals
from helix_shared.artifacts.signals.sketches import (
    SketchQuery,
    differing_signs,
    differing_weight,
    sketches_of,
    smallest,
)
from helix_shared.artifacts.signals.tenant_sketches import TenantSketches
from helix_shared.artifacts.signals.writer import SignalsWriter

Records = Callable[[list[dict[str, Any]]], pa.Table]


@pytest.mark.parametrize("dimensions", [1, 63, 64, 65, 384, 1000])
def test_a_sketch_holds_the_signs(dimensions: int) -> None:
    """Opposite vectors differ in every sign, scaled vectors in none; 64 signs fit into a word."""
    vectors = np.random.default_rng(dimensions).normal(size=(5, dimensions)).astype(np.float32)
    made = sketches_of(vectors)
    assert made.shape == (5, -(-dimensions // 64))
    assert np.array_equal(made, sketches_of(vectors * 3))
    assert np.bitwise_count(made ^ sketches_of(-vectors)).sum(axis=1).tolist() == [dimensions] * 5
    assert np.array_equal(made[2], sketches_of(vectors[2]))


@given(seed=st.integers(0, 2**32 - 1), rows=st.integers(0, 300), chunk=st.integers(1, 99))
def test_differing_signs_are_counted_exactly(seed: int, rows: int, chunk: int) -> None:
    """For any chunk size; an opposite vector differs in all 400 signs, which is more than a byte holds."""
    drawn = np.random.default_rng(seed)
    stored = sketches_of(drawn.normal(size=(rows, 400)).astype(np.float32))
    vector = drawn.normal(size=400).astype(np.float32)
    stored[: rows // 3] = sketches_of(-vector)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sketches, "_CHUNK_ROWS", chunk)
        found = differing_signs(np.ascontiguousarray(stored.T), SketchQuery.of(vector))
    assert found.tolist() == np.bitwise_count(stored ^ sketches_of(vector)).sum(axis=1).tolist()
    assert set(found[: rows // 3].tolist()) <= {400}


def clustered(seed: int, count: int, *, dimensions: int = 384, centres: int = 200) -> NDArray[np.float32]:
    """Clustered unit vectors with directions of unequal variance."""
    drawn = np.random.default_rng(seed)
    shape = (dimensions, dimensions)
    turn = np.linalg.qr(np.random.default_rng(7).standard_normal(shape, np.float32))[0]
    middle = drawn.standard_normal((centres, dimensions), np.float32)
    around = drawn.standard_normal((count, dimensions), np.float32)
    spread = (np.arange(1, dimensions + 1) ** -0.4).astype(np.float32)
    made = (middle[drawn.integers(0, centres, count)] + 2 * around) * spread @ turn
    unit: NDArray[np.float32] = made / np.linalg.norm(made, axis=1, keepdims=True)
    return unit


@given(
    seed=st.integers(0, 2**32 - 1),
    rows=st.integers(0, 60),
    dimensions=st.sampled_from([1, 3, 64, 100, 384, 5_000]),
    chunk=st.integers(1, 99),
)
def test_the_estimate_is_the_product_of_the_rounded_query_with_the_signs(
    seed: int, rows: int, dimensions: int, chunk: int
) -> None:
    """In integers, for vectors of any length and any chunk size."""
    drawn = np.random.default_rng(seed)
    vectors = drawn.normal(size=(rows, dimensions)).astype(np.float32)
    query = drawn.normal(size=dimensions).astype(np.float32)
    most = min(15, 65_535 // dimensions)
    sizes = np.rint(np.abs(query).astype(np.float64) * (most / float(np.abs(query).max()))).astype(np.int64)
    products = np.where(vectors > 0, 1, -1) @ np.where(query > 0, sizes, -sizes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sketches, "_CHUNK_ROWS", chunk)
        found = differing_weight(np.ascontiguousarray(sketches_of(vectors).T), SketchQuery.of(query))
    assert (sizes.sum() - 2 * found.astype(np.int64)).tolist() == products.tolist()


def test_a_zero_query_has_zero_weights() -> None:
    """A zero vector is not divided by its largest number, and all distances are equal."""
    stored = np.ascontiguousarray(sketches_of(clustered(1, 5)).T)
    assert differing_weight(stored, SketchQuery.of(np.zeros(384, np.float32))).tolist() == [0] * 5


@given(
    distances=st.lists(st.integers(0, 6) | st.integers(0, 65_535), max_size=80),
    count=st.integers(1, 90),
    seed=st.integers(0, 99),
)
def test_the_smallest_are_the_first_of_a_sort(distances: list[int], count: int, seed: int) -> None:
    """Ties go to the lowest ordinals, whose order is arbitrary."""
    values = np.array(distances, np.uint16)
    ordinals = np.random.default_rng(seed).permutation(len(values))
    expected = np.sort(np.lexsort((ordinals, values))[:count])
    assert smallest(values, count, ordinals).tolist() == expected.tolist()


def test_ties_do_not_exceed_the_count() -> None:
    """Of a hundred thousand equal distances only `count` are taken."""
    chosen = smallest(np.full(100_000, 7, np.uint16), 500, np.arange(100_000)[::-1])
    assert chosen.tolist() == list(range(99_500, 100_000))


def test_the_estimate_has_a_higher_recall_than_signs() -> None:
    """Of 10,000 clustered vectors, 300 by estimate hold .98 of the nearest 50, and 300 by signs .86."""
    vectors = clustered(3, 10_012)
    stored, queries = vectors[:10_000], vectors[10_000:]
    every = np.arange(10_000)
    tenant = TenantSketches.none().with_new(every, np.zeros(10_000, np.int64), sketches_of(stored))
    by_estimate, by_signs = [], []
    for query in queries:
        sketched, nearest = SketchQuery.of(query), np.argsort(-(stored @ query), kind="stable")[:50]
        signs = differing_signs(tenant.blocks[0][0].sketches, sketched)
        by_estimate.append(np.isin(nearest, tenant.nearest(0, sketched, 300)).mean())
        by_signs.append(np.isin(nearest, smallest(signs, 300, every)).mean())
    assert np.mean(by_estimate) > 0.97
    assert np.mean(by_signs) < 0.9


def sketched(signals: Signals) -> list[bool]:
    """Ordinals of the memories that have a sketch."""
    every = [block for blocks in signals.tenant_sketches.blocks.values() for block in blocks]
    words = np.concatenate([chunk.sketches for chunk in every], axis=1)
    order = np.argsort(np.concatenate([chunk.ordinals for chunk in every]))
    return words.any(axis=0)[order].tolist()


def test_an_erased_memory_leaves_no_sketch(tmp_path: Path, records: Records) -> None:
    """An erased vector has no sketch, since signs reveal something of the text."""
    writer = SignalsWriter.open(tmp_path / "s")
    writer.append(*signals_of(records([{} for _ in range(6)])))
    before = Signals.open(tmp_path / "s")
    assert sketched(before) == [True] * 6
    writer.erase(np.array([3]))
    writer.compact()
    signals = Signals.open(tmp_path / "s")
    left = [True, True, True, False, True, True]
    assert sketched(signals) == left
    assert sketched(Signals.open(tmp_path / "s", previous=before)) == left
    assert all(segment.columns["sketch"][segment.ordinals == 3].sum() == 0 for segment in signals.segments)
