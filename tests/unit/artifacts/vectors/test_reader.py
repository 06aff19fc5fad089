"""The reader of the vector table: exact cosines, the index, refused input."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from helix_shared.artifacts.filter.selection import Selection
from helix_shared.artifacts.signals.columns import signals_of
from helix_shared.artifacts.signals.reader import Signals
from helix_shared.artifacts.signals.writer import SignalsWriter
from helix_shared.artifacts.vectors import index as vector_index
from helix_shared.artifacts.vectors import maintenance
from helix_shared.artifacts.vectors.reader import VectorReader
from helix_shared.artifacts.vectors.writer import VectorWriter
from helix_shared.errors import CorruptArtifactError, InvalidInputError

Records = Callable[[list[dict[str, Any]]], pa.Table]
ACME = Selection("acme")


@pytest.fixture
def writer(tmp_path: Path) -> VectorWriter:
    """An empty table."""
    return VectorWriter.create(tmp_path, 8)


def test_take_keeps_the_order_and_leaves_out_ordinals_without_a_row(
    tmp_path: Path, writer: VectorWriter, records: Records
) -> None:
    """An unknown, deleted or negative ordinal has no row."""
    writer.upsert(records([{} for _ in range(5)]))
    writer.delete([2])
    taken = VectorReader(tmp_path).take([4, -1, 2, 0, 99, 4], columns=["text"])
    assert taken["ordinal"].to_pylist() == [4, 0, 4]
    assert taken.column_names == ["ordinal", "text"]


def test_a_search_ranks_by_exact_cosine_and_never_returns_hidden_rows(
    tmp_path: Path, writer: VectorWriter, records: Records
) -> None:
    """Scores are the dot products of unit vectors, best first; the query's length does not matter."""
    table = records([{"hidden": index == 3} for index in range(20)])
    writer.upsert(table)
    matrix = np.array(table["vector"].to_pylist(), np.float32)
    cosines = matrix @ matrix[3]
    expected = [index for index in np.argsort(-cosines).tolist() if index != 3][:5]
    hits = VectorReader(tmp_path).search(7 * matrix[3], ACME, limit=5)
    assert hits.ordinals.tolist() == expected
    assert hits.scores == pytest.approx(cosines[expected], abs=1e-6)


def test_an_indexed_search_is_rescored_exactly(
    tmp_path: Path, writer: VectorWriter, records: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Above the threshold an index is built, and scores stay exact with and without mapped vectors."""
    monkeypatch.setattr(maintenance, "INDEX_ROWS", 300)
    monkeypatch.setattr(vector_index, "ROWS_PER_PARTITION", 150)
    table = records([{} for _ in range(600)])
    writer.upsert(table)
    assert writer.maintain()
    signals = SignalsWriter.open(tmp_path / "signals")
    signals.append(*signals_of(table))
    cosines = Signals.open(tmp_path / "signals").cosines
    matrix = np.array(table["vector"].to_pylist(), np.float32)
    exact = matrix @ matrix[5]
    for reader in (VectorReader(tmp_path), VectorReader(tmp_path, cosines=cosines)):
        hits = reader.search(matrix[5], ACME, limit=10, nprobes=20, candidates=200)
        assert hits.ordinals.tolist() == np.argsort(-exact)[:10].tolist()
        assert hits.scores == pytest.approx(np.sort(exact)[::-1][:10], abs=1e-5)


def test_rows_outside_the_index_are_the_tail_and_can_be_left_out(
    tmp_path: Path, writer: VectorWriter, records: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    """New and rewritten rows are the tail; a search of the index alone misses them."""
    monkeypatch.setattr(maintenance, "INDEX_ROWS", 300)
    monkeypatch.setattr(vector_index, "ROWS_PER_PARTITION", 150)
    table = records([{} for _ in range(600)])
    signals = SignalsWriter.open(tmp_path / "signals")

    def write(rows: pa.Table) -> None:
        writer.upsert(rows)
        signals.append(*signals_of(rows))

    write(table)
    assert writer.maintain()
    write(records([{"ordinal": 600 + number} for number in range(5)]))
    write(table.slice(7, 1))
    opened = Signals.open(tmp_path / "signals")
    reader = VectorReader(tmp_path, cosines=opened.cosines, latest=opened.latest)
    assert reader.tail is not None
    assert {7, 600, 601, 602, 603, 604} <= set(reader.tail.tolist())
    assert VectorReader(tmp_path, cosines=opened.cosines).tail is None
    vector = opened.vectors(np.array([602]))[0]
    everything = reader.search(vector, ACME, limit=605, nprobes=20, candidates=605)
    indexed = reader.search(vector, ACME, limit=605, nprobes=20, candidates=605, indexed_only=True)
    assert everything.ordinals[0] == 602
    assert set(everything.ordinals.tolist()) - set(indexed.ordinals.tolist()) <= set(reader.tail.tolist())
    assert 602 not in indexed.ordinals


def test_searches_from_several_threads_agree(tmp_path: Path, writer: VectorWriter, records: Records) -> None:
    """One reader serves many threads."""
    writer.upsert(records([{} for _ in range(50)]))
    reader = VectorReader(tmp_path)
    query = np.ones(8, np.float32)
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: reader.search(query, ACME, limit=7).ordinals.tolist(), range(40)))
    assert all(answer == answers[0] for answer in answers)
    assert len(answers[0]) == 7


@pytest.mark.parametrize(
    "vector",
    [np.zeros(8), np.full(8, np.nan), np.full(8, np.inf), np.ones(7), np.ones((1, 8))],
)
def test_a_vector_without_direction_is_refused(
    tmp_path: Path, writer: VectorWriter, records: Records, vector: np.ndarray
) -> None:
    """Zero, not finite or of another length: LanceDB would return nothing, without an error."""
    writer.upsert(records([{}]))
    with pytest.raises(InvalidInputError, match=r"^vector: "):
        VectorReader(tmp_path).search(vector.astype(np.float32), ACME, limit=1)


@pytest.mark.parametrize("limit", [0, -1, 10_001, 2**40])
def test_a_limit_out_of_bounds_is_refused(tmp_path: Path, writer: VectorWriter, limit: int) -> None:
    """Such limits would make LanceDB fail or reserve too much memory."""
    assert writer.count == 0
    with pytest.raises(InvalidInputError, match=r"^limit: "):
        VectorReader(tmp_path).search(np.ones(8, np.float32), ACME, limit=limit)


def test_an_empty_table_returns_no_rows(tmp_path: Path, writer: VectorWriter) -> None:
    """Search, take, find and scan of a table without rows."""
    reader = VectorReader(tmp_path)
    reader.warm()
    assert len(reader.search(np.ones(8, np.float32), ACME, limit=5)) == 0
    assert reader.take([0]).num_rows == reader.find(["0" * 32]).num_rows == reader.find([]).num_rows == 0
    assert writer.scan(["text"]).num_rows == writer.take([]).num_rows == 0


def test_a_folder_without_a_table_is_corrupt(tmp_path: Path, writer: VectorWriter, records: Records) -> None:
    """A missing table and an unreadable manifest have errors of their own."""
    writer.upsert(records([{}]))
    with pytest.raises(CorruptArtifactError, match="has no vector table"):
        VectorReader(tmp_path / "nowhere")
    for manifest in (tmp_path / "memories.lance" / "_versions").iterdir():
        manifest.write_bytes(b"")
    with pytest.raises(CorruptArtifactError, match="cannot be read"):
        VectorReader(tmp_path)
