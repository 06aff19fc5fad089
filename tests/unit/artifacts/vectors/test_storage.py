"""Forms of stored vectors: error bounds, changes of form, and rescoring by them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from helix_query.diagnostics.index_recall import index_recall
from helix_shared.artifacts.filter.selection import Selection
from helix_shared.artifacts.signals import vector_storage
from helix_shared.artifacts.signals import writer as signals_writer
from helix_shared.artifacts.signals.columns import signals_of
from helix_shared.artifacts.signals.reader import Signals
from helix_shared.artifacts.signals.vector_storage import (
    STORAGES,
    Storage,
    dot_products,
    packed,
    storage_of,
    unpacked,
)
from helix_shared.artifacts.signals.writer import SignalsWriter
from helix_shared.artifacts.vectors import index, maintenance
from helix_shared.artifacts.vectors.form import VectorForm
from helix_shared.artifacts.vectors.reader import VectorReader
from helix_shared.artifacts.vectors.writer import VectorWriter
from helix_shared.errors import InvalidInputError

Records = Callable[[list[dict[str, Any]]], pa.Table]
BOUNDS: dict[Storage, float] = {"float32": 1e-6, "float16": 2.0**-11, "int8": 8**0.5 / 254}
"""Largest error of a cosine in 8 dimensions; int8: half a step of at most 1/127, times the root of 8."""


def matrix_of(table: pa.Table) -> np.ndarray:
    """The vectors of records."""
    return np.array(table["vector"].to_pylist(), np.float32)


def test_int8_stores_a_vector_of_whole_steps_exactly() -> None:
    """The largest number is 127 steps; 0.5 of 1.27 is 50 steps of .01, and zeros stay zeros."""
    rows = packed(np.array([[1.27, -0.5], [0, 0]], np.float32), "int8")
    assert rows["codes"].tolist() == [[127, -50], [0, 0]]
    assert rows["step"].tolist() == pytest.approx([0.01, 0])
    assert unpacked(rows) == pytest.approx(np.array([[1.27, -0.5], [0, 0]]))


@pytest.mark.parametrize("storage", STORAGES)
def test_each_form_returns_float32_within_its_bound(
    tmp_path: Path, records: Records, storage: Storage
) -> None:
    """Vectors and cosines across segments, with missing and repeated ordinals."""
    table = records([{"ordinal": ordinal} for ordinal in (0, 1, 2, 3, 5)])
    writer = SignalsWriter.open(tmp_path / "s", storage=storage)
    writer.append(*signals_of(table.slice(0, 4)))
    writer.append(*signals_of(table.slice(4)))
    signals, matrix = Signals.open(tmp_path / "s"), matrix_of(table)
    assert (len(signals.segments), signals.storage, signals.dimensions) == (2, storage, 8)
    wanted = np.array([5, 0, 5, 4, 3], np.int64)
    expected = np.stack([matrix[4], matrix[0], matrix[4], np.zeros(8, np.float32), matrix[3]])
    assert signals.vectors(wanted).dtype == signals.cosines(matrix[0], wanted).dtype == np.float32
    assert signals.vectors(wanted) == pytest.approx(expected, abs=1 / 254 + 1e-6)
    assert signals.cosines(matrix[0], wanted) == pytest.approx(expected @ matrix[0], abs=BOUNDS[storage])


@pytest.mark.parametrize("storage", STORAGES)
def test_a_dot_product_does_not_depend_on_the_other_rows(storage: Storage) -> None:
    """Equal to the last bit in every order and batch size: other tenants' rows must not show."""
    drawn = np.random.default_rng(5)
    rows = packed(drawn.normal(size=(1_003, 384)).astype(np.float32), storage)
    query = drawn.normal(size=384).astype(np.float32)
    together = dot_products(rows, query)
    for count in (1, 2, 3, 5, 7, 250, 1_001):
        assert dot_products(rows[-count:], query).tolist() == together[-count:].tolist()
    order = drawn.permutation(len(rows))
    assert dot_products(rows[order], query).tolist() == together[order].tolist()


@pytest.mark.parametrize("storage", STORAGES)
def test_merging_segments_changes_no_digit(tmp_path: Path, records: Records, storage: Storage) -> None:
    """Rows merged several times equal the rows of one write."""
    table = records([{} for _ in range(9)])
    writer = SignalsWriter.open(tmp_path / "s", storage=storage)
    for row in range(9):
        writer.append(*signals_of(table.slice(row, 1)))
    signals = Signals.open(tmp_path / "s")
    assert np.array_equal(signals.vectors(np.arange(9)), unpacked(packed(matrix_of(table), storage)))


def test_a_store_becomes_narrower_when_opened_and_never_wider(tmp_path: Path, records: Records) -> None:
    """A wider form is refused; the message names the form that the store holds."""
    table = records([{} for _ in range(4)])
    SignalsWriter.open(tmp_path / "s", storage="float32").append(*signals_of(table))
    SignalsWriter.open(tmp_path / "s", storage="int8")
    signals = Signals.open(tmp_path / "s")
    assert signals.storage == "int8"
    assert signals.vectors(np.arange(4)) == pytest.approx(matrix_of(table), abs=1 / 254)
    with pytest.raises(InvalidInputError, match="holds int8"):
        SignalsWriter.open(tmp_path / "s", storage="float16")
    SignalsWriter.open(tmp_path / "s", storage="auto").append(*signals_of(records([{"ordinal": 4}])))
    assert Signals.open(tmp_path / "s").storage == "float32, int8"


def test_auto_is_exact_in_small_segments_and_int8_in_large_ones(
    tmp_path: Path, records: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The threshold counts the rows of a segment, so a merge may narrow it."""
    monkeypatch.setattr(vector_storage, "EXACT_ROWS", 3)
    monkeypatch.setattr(signals_writer, "MERGED_TOGETHER", 2)
    table = records([{} for _ in range(4)])
    writer = SignalsWriter.open(tmp_path / "s")
    writer.append(*signals_of(table.slice(0, 3)))
    assert Signals.open(tmp_path / "s").storage == "float32"
    writer.append(*signals_of(table.slice(2, 2)))
    assert Signals.open(tmp_path / "s").storage == "int8"


def test_an_array_of_another_dtype_has_no_form() -> None:
    """Doubles, single rows and other records are refused when a segment is opened."""
    strange = np.zeros(2, [("step", np.float64), ("codes", np.int8, (4,))])
    for rows in (np.zeros((2, 4)), np.zeros(4, np.float32), strange):
        assert storage_of(rows) is None


@pytest.mark.parametrize(("scan", "short"), [("auto", 0), ("binary", 0), ("product", 0), ("scalar", 4)])
def test_status_measures_the_recall_of_a_store(
    tmp_path: Path, records: Records, monkeypatch: pytest.MonkeyPatch, scan: Any, short: int
) -> None:
    """With every kind of index, candidates are ranked by stored vectors."""
    monkeypatch.setattr(maintenance, "INDEX_ROWS", 300)
    monkeypatch.setattr(index, "ROWS_PER_PARTITION", 150)
    generator = np.random.default_rng(1)
    vectors = generator.standard_normal((600, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    table = records([{"vector": vector.tolist()} for vector in vectors])
    form = VectorForm("int8", scan, short)
    writer = VectorWriter.create(tmp_path, 8, form=form)
    writer.upsert(table)
    assert writer.maintain()
    SignalsWriter.open(tmp_path / "signals", storage=form.storage).append(*signals_of(table))
    signals = Signals.open(tmp_path / "signals")
    reader = VectorReader(tmp_path, cosines=signals.cosines)
    hits = reader.search(vectors[7], Selection("acme"), limit=5)
    assert hits.ordinals[0] == 7
    assert hits.scores == pytest.approx(vectors[hits.ordinals] @ vectors[7], abs=BOUNDS["int8"])
    measured = index_recall(reader, signals, queries=20, depth=20)
    assert measured == index_recall(reader, signals, queries=20, depth=20)
    assert measured.scan == ("scalar" if scan == "auto" else scan)
    assert (measured.queries, measured.rows, measured.unindexed_rows, measured.partitions) == (20, 600, 0, 4)
    assert (measured.storage, measured.dimensions, measured.scanned_dimensions) == ("int8", 8, short or 8)
    assert measured.recall is not None
    assert (0.3 if short else 0.6) < measured.recall <= 1
    writer.upsert(writer.take([3]))
    assert writer.take([3]).num_rows == 1


def test_a_table_that_scans_other_dimensions_is_refused(tmp_path: Path) -> None:
    """The message names the setting of the store; the model's own length or more is refused too."""
    VectorWriter.create(tmp_path, 8, form=VectorForm(scan_dimensions=4))
    VectorWriter.open(tmp_path, form=VectorForm(scan_dimensions=4))
    with pytest.raises(InvalidInputError, match="was created with 4"):
        VectorWriter.open(tmp_path)
    with pytest.raises(InvalidInputError, match="less than the 8"):
        VectorWriter.create(tmp_path / "other", 8, form=VectorForm(scan_dimensions=8))


def test_without_an_index_every_neighbour_is_found(tmp_path: Path, records: Records) -> None:
    """A small store has recall 1 and all rows outside the index; an empty store has no recall."""
    table = records([{} for _ in range(40)])
    writer = VectorWriter.create(tmp_path, 8)
    SignalsWriter.open(tmp_path / "signals")
    empty = Signals.open(tmp_path / "signals")
    assert index_recall(VectorReader(tmp_path, cosines=empty.cosines), empty).recall is None
    writer.upsert(table)
    SignalsWriter.open(tmp_path / "signals").append(*signals_of(table))
    signals = Signals.open(tmp_path / "signals")
    measured = index_recall(VectorReader(tmp_path, cosines=signals.cosines), signals, depth=10)
    assert (measured.scan, measured.partitions, measured.unindexed_rows) == ("exact", 0, 40)
    assert measured.recall is not None
    assert measured.recall > 0.99
