"""Sketches: signs in words, and the rows that differ least, however many signs there are."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_shared.artifacts import sketches
from helix_shared.artifacts.signal_writer import SignalsWriter
from helix_shared.artifacts.signals import Signals, signals_of
from helix_shared.artifacts.sketches import nearest_sketches, sketches_of

Records = Callable[[list[dict[str, Any]]], pa.Table]


@pytest.mark.parametrize("dimensions", [1, 63, 64, 65, 384, 1000])
def test_a_sketch_is_the_signs_and_nothing_else(dimensions: int) -> None:
    """So many words as the signs need; opposite vectors differ in every sign, scaled ones in none."""
    vectors = np.random.default_rng(dimensions).normal(size=(5, dimensions)).astype(np.float32)
    made = sketches_of(vectors)
    assert made.shape == (5, -(-dimensions // 64))
    assert np.array_equal(made, sketches_of(vectors * 3))
    assert np.bitwise_count(made ^ sketches_of(-vectors)).sum(axis=1).tolist() == [dimensions] * 5
    assert np.array_equal(made[2], sketches_of(vectors[2]))


@given(
    seed=st.integers(0, 2**32 - 1),
    rows=st.integers(0, 300),
    count=st.integers(1, 320),
    piece=st.integers(1, 99),
)
def test_the_nearest_are_those_that_differ_least(seed: int, rows: int, count: int, piece: int) -> None:
    """At least `count`, none missing that is nearer than one of them, whatever the size of a piece."""
    drawn = np.random.default_rng(seed)
    stored = sketches_of(drawn.normal(size=(rows, 400)).astype(np.float32))
    stored[: rows // 2] = ~stored[: rows // 2]
    among = np.flatnonzero(drawn.random(rows) < 0.8)
    sought = sketches_of(drawn.normal(size=400).astype(np.float32))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sketches, "_PIECE_ROWS", piece)
        found = nearest_sketches(stored, among, sought, count)
    differing = np.array([int(np.bitwise_count(stored[row] ^ sought).sum()) for row in among], int)
    if len(among) <= count:
        assert found.tolist() == among.tolist()
    else:
        last = np.sort(differing)[count - 1]
        assert found.tolist() == among[differing <= last].tolist()


def test_more_differences_than_a_byte_counts_are_not_near() -> None:
    """An opposite vector of 384 signs is the furthest of all."""
    vector = np.ones(384, np.float32)
    stored = sketches_of(np.stack([-vector, np.where(np.arange(384) < 200, -vector, vector)]))
    assert nearest_sketches(stored, np.arange(2), sketches_of(vector), 1).tolist() == [1]


def test_an_erased_memory_leaves_no_sketch(tmp_path: Path, records: Records) -> None:
    """Signs tell of a text: they go with its vector."""
    writer = SignalsWriter.open(tmp_path / "s")
    writer.append(*signals_of(records([{} for _ in range(6)])))
    assert Signals.open(tmp_path / "s").sketch.any(axis=1).all()
    writer.erase(np.array([3]))
    signals = Signals.open(tmp_path / "s")
    assert signals.sketch.any(axis=1).tolist() == [True, True, True, False, True, True]
    assert all(segment.columns["sketch"][segment.ordinals == 3].sum() == 0 for segment in signals.segments)
