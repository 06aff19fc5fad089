"""Searches of the first dimensions of a vector: exact after the rescore where a model was trained for it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from helix_shared.artifacts.filter.selection import Selection
from helix_shared.artifacts.signals.columns import signals_of
from helix_shared.artifacts.signals.reader import Signals
from helix_shared.artifacts.signals.writer import SignalsWriter
from helix_shared.artifacts.vectors.form import VectorForm
from helix_shared.artifacts.vectors.reader import VectorReader
from helix_shared.artifacts.vectors.writer import VectorWriter

Records = Callable[[list[dict[str, Any]]], pa.Table]
ROWS, FULL, SHORT, FIRST, QUERIES = 600, 32, 12, 10, 25
TRAINED, FLAT = 0.8, 1.0
"""Size of each number of a vector relative to the one before it."""


def drawn(count: int, falling: float, *, seed: int) -> np.ndarray:
    """Unit vectors; with `falling` below 1 most of their length is in the first numbers."""
    sizes = falling ** np.arange(FULL)
    found = np.random.default_rng(seed).standard_normal((count, FULL)) * sizes
    unit: np.ndarray = (found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float32)
    return unit


def exact(vectors: np.ndarray, query: np.ndarray) -> list[int]:
    """The first of all vectors by their whole length."""
    found: list[int] = np.argsort(-(vectors @ query), kind="stable")[:FIRST].tolist()
    return found


def shares(tmp_path: Path, records: Records, falling: float) -> tuple[float, float]:
    """Share of the exact first ten that a search finds, with the rescore and without further candidates."""
    vectors, folder = drawn(ROWS, falling, seed=1), tmp_path / str(falling)
    table = records([{"vector": vector.tolist()} for vector in vectors])
    VectorWriter.create(folder, FULL, form=VectorForm(scan_dimensions=SHORT)).upsert(table)
    SignalsWriter.open(folder / "signals").append(*signals_of(table))
    reader = VectorReader(folder, cosines=Signals.open(folder / "signals").cosines)
    found = []
    for query in drawn(QUERIES, falling, seed=2):
        wanted = exact(vectors, query)
        rescored = reader.search(query, Selection("acme"), limit=FIRST)
        alone = reader.search(query, Selection("acme"), limit=FIRST, candidates=FIRST)
        assert rescored.scores == pytest.approx(vectors[rescored.ordinals] @ query, abs=1e-5)
        found.append([len(set(wanted) & set(one.ordinals.tolist())) / FIRST for one in (rescored, alone)])
        if falling == TRAINED:
            assert rescored.ordinals.tolist() == wanted
    with_rescore, without = np.mean(found, axis=0).tolist()
    return with_rescore, without


def test_a_trained_prefix_finds_what_the_whole_vector_finds(tmp_path: Path, records: Records) -> None:
    """The same first ten in the same order; the prefix alone would not, so the rescore earns its time."""
    rescored, alone = shares(tmp_path, records, TRAINED)
    assert rescored == 1.0
    assert alone < 1.0


def test_a_prefix_that_was_not_trained_loses_neighbours(tmp_path: Path, records: Records) -> None:
    """Which is why a model must declare its prefixes: nothing else would tell."""
    rescored, alone = shares(tmp_path, records, FLAT)
    assert alone < rescored < 0.9
