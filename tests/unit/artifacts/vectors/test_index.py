"""The kinds of vector index: parameters by size, recall against exact search, rebuilds, refused settings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from helix_consolidation.settings import ConsolidationSettings
from helix_shared.artifacts.vectors import index as vector_index
from helix_shared.artifacts.vectors import maintenance
from helix_shared.artifacts.vectors.form import INDEX_KINDS, IndexKind, VectorForm
from helix_shared.artifacts.vectors.index import VectorIndex, sub_vectors, wanted_index
from helix_shared.artifacts.vectors.reader import VectorReader
from helix_shared.artifacts.vectors.writer import VectorWriter
from helix_shared.errors import InvalidInputError

Records = Callable[[list[dict[str, Any]]], pa.Table]
DIMENSIONS = 64
"""A binary index keeps a bit of each. Of 8 bits most neighbours are ties, in an order that k-means draws."""
TOPICS = np.random.default_rng(0).standard_normal((48, DIMENSIONS))
"""Vectors of texts lie around those of their topics; without any, all are equally far from each other."""


@pytest.fixture(autouse=True)
def small_tables_are_indexed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Indices from 301 rows on, 100 rows a partition."""
    monkeypatch.setattr(maintenance, "INDEX_ROWS", 300)
    monkeypatch.setattr(vector_index, "ROWS_PER_PARTITION", 100)


def unit_vectors(count: int, seed: int) -> np.ndarray:
    """Random vectors of length 1, each around one of `TOPICS`."""
    random = np.random.default_rng(seed)
    vectors = TOPICS[random.integers(0, len(TOPICS), count)] + random.standard_normal((count, DIMENSIONS))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def rows(records: Records, vectors: np.ndarray, *, first: int = 0) -> pa.Table:
    """Records with these vectors, of consecutive ordinals."""
    return records(
        [{"ordinal": first + place, "vector": vector.tolist()} for place, vector in enumerate(vectors)]
    )


def recall(folder: Path, vectors: np.ndarray, *, limit: int = 20) -> float:
    """Share of the exact nearest neighbours that a search of the published table finds."""
    reader = VectorReader(folder, cosines=lambda query, ordinals: vectors[ordinals] @ query)
    shares = []
    for query in unit_vectors(30, seed=99):
        exact = np.argsort(-(vectors @ query))[:limit]
        hits = reader.search(query, None, limit=limit)
        assert hits.scores == pytest.approx(vectors[hits.ordinals] @ query, abs=1e-6)
        shares.append(np.isin(exact, hits.ordinals).mean())
    reader.close()
    return float(np.mean(shares))


def test_parameters_follow_the_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """1,000 rows a partition, 4 or 6 x root of the partitions searched; auto is binary above 200,000 rows."""
    monkeypatch.undo()
    small, large = wanted_index(100_000), wanted_index(1_000_000)
    product = wanted_index(1_000_000, scan="product")
    assert (small, small.nprobes, small.candidates(100)) == (VectorIndex("scalar", 100), 40, 150)
    assert (large, large.nprobes, large.candidates(100)) == (VectorIndex("binary", 1000), 127, 600)
    assert (product.name, product.nprobes, product.candidates(100)) == ("vector_pq_1000", 190, 600)
    assert wanted_index(9_000).nprobes == 9
    # a quarter of the rows visible: twice as many; never more than there are
    assert (large.nprobes_within(0.25), small.nprobes_within(0.01)) == (254, 100)
    assert wanted_index(9_000, scan="binary").name == "vector_rq_9"


def test_sub_vectors_have_two_dimensions_and_their_number_is_even() -> None:
    """LanceDB packs two codes into a byte: 6 dimensions make 6 sub-vectors of one, not 3 of two."""
    assert [sub_vectors(dimensions) for dimensions in (384, 768, 8, 6, 2)] == [192, 384, 4, 6, 2]


@pytest.mark.parametrize("kind", INDEX_KINDS)
def test_each_kind_agrees_with_exact_search_after_every_kind_of_change(
    tmp_path: Path, records: Records, kind: IndexKind
) -> None:
    """Built beside the writer, linked, reopened, compacted, and rebuilt when the table has grown."""
    form, vectors = VectorForm(scan=kind), unit_vectors(2_400, seed=1)
    writer = VectorWriter.create(tmp_path / "live", DIMENSIONS, form=form)
    writer.upsert(rows(records, vectors[:400]))
    writer.begin_maintenance()
    assert writer.is_maintaining
    writer.upsert(rows(records, vectors[400:410], first=400))
    assert writer.finish_maintenance(wait=True)
    writer.link_into(tmp_path / "1")
    assert VectorReader(tmp_path / "1").index == VectorIndex(kind, 4)
    assert recall(tmp_path / "1", vectors[:410]) > 0.95
    reopened = VectorWriter.open(tmp_path / "live", form=form)
    assert reopened.maintain(force=True)
    reopened.link_into(tmp_path / "2")
    assert VectorReader(tmp_path / "2").unindexed_rows == 0
    assert VectorReader(tmp_path / "2").index == VectorIndex(kind, 4)
    assert recall(tmp_path / "2", vectors[:410]) > 0.95
    reopened.upsert(rows(records, vectors[410:], first=410))
    assert reopened.maintain()
    reopened.link_into(tmp_path / "3")
    assert VectorReader(tmp_path / "3").index == VectorIndex(kind, 24)
    assert recall(tmp_path / "3", vectors) > 0.95
    # the linked versions do not change
    assert recall(tmp_path / "1", vectors[:410]) > 0.95


def test_another_kind_replaces_the_index(tmp_path: Path, records: Records) -> None:
    """A changed setting takes effect with the next maintenance, and leaves one index and all rows."""
    vectors = unit_vectors(400, seed=2)
    writer = VectorWriter.create(tmp_path, DIMENSIONS)
    writer.upsert(rows(records, vectors))
    for kind in (*INDEX_KINDS, "scalar"):
        writer = VectorWriter.open(tmp_path, form=VectorForm(scan=kind))
        assert writer.maintain()
        assert VectorReader(tmp_path).index == VectorIndex(kind, 4)
        assert not writer.maintain()
        assert writer.count == 400
        assert recall(tmp_path, vectors) > 0.95


def test_an_odd_number_of_dimensions_has_no_product_index(tmp_path: Path) -> None:
    """It is refused before a table is created, or one is opened, with the setting and the limit."""
    form = VectorForm(scan="product")
    with pytest.raises(InvalidInputError, match=r"^vector_scan: product needs an even number .* not 7"):
        VectorWriter.create(tmp_path / "7", 7, form=form)
    with pytest.raises(InvalidInputError, match="not 3"):
        VectorWriter.create(tmp_path / "3", 8, form=VectorForm(scan="product", scan_dimensions=3))
    VectorWriter.create(tmp_path / "scalar", 7)
    with pytest.raises(InvalidInputError, match="not 7"):
        VectorWriter.open(tmp_path / "scalar", form=form)


def test_an_unknown_kind_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message names the variable and its values."""
    monkeypatch.setenv("HELIX_CONSOLIDATION_VECTOR_SCAN", "ivf_pq")
    with pytest.raises(
        InvalidInputError, match=r"_VECTOR_SCAN: must be 'auto', 'scalar', 'binary' or 'product'"
    ):
        ConsolidationSettings.load()
    monkeypatch.setenv("HELIX_CONSOLIDATION_VECTOR_SCAN", "product")
    assert ConsolidationSettings.load().vector_form.scan == "product"
