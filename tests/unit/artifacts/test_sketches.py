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
from helix_shared.artifacts.sketches import differing_signs, sketches_of

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


@given(seed=st.integers(0, 2**32 - 1), rows=st.integers(0, 300), piece=st.integers(1, 99))
def test_differing_signs_are_counted_one_by_one(seed: int, rows: int, piece: int) -> None:
    """Whatever the size of a piece; of an opposite vector all 400 signs, more than a byte counts."""
    drawn = np.random.default_rng(seed)
    stored = sketches_of(drawn.normal(size=(rows, 400)).astype(np.float32))
    vector = drawn.normal(size=400).astype(np.float32)
    stored[: rows // 3] = sketches_of(-vector)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sketches, "_PIECE_ROWS", piece)
        found = differing_signs(np.ascontiguousarray(stored.T), sketches_of(vector))
    assert found.tolist() == np.bitwise_count(stored ^ sketches_of(vector)).sum(axis=1).tolist()
    assert set(found[: rows // 3].tolist()) <= {400}


def sketched(signals: Signals) -> list[bool]:
    """Of which memories there is a sketch, by ordinal."""
    every = [piece for pieces in signals.members.pieces.values() for piece in pieces]
    words = np.concatenate([piece.sketches for piece in every], axis=1)
    order = np.argsort(np.concatenate([piece.ordinals for piece in every]))
    return words.any(axis=0)[order].tolist()


def test_an_erased_memory_leaves_no_sketch(tmp_path: Path, records: Records) -> None:
    """Signs tell of a text: they go with its vector."""
    writer = SignalsWriter.open(tmp_path / "s")
    writer.append(*signals_of(records([{} for _ in range(6)])))
    before = Signals.open(tmp_path / "s")
    assert sketched(before) == [True] * 6
    writer.erase(np.array([3]))
    signals = Signals.open(tmp_path / "s")
    left = [True, True, True, False, True, True]
    assert sketched(signals) == left
    assert sketched(Signals.open(tmp_path / "s", previous=before)) == left
    assert all(segment.columns["sketch"][segment.ordinals == 3].sum() == 0 for segment in signals.segments)
