"""The vector table: records in and out, exact cosines, and no door for hostile values."""

from __future__ import annotations

import shutil
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
from helix_shared.artifacts.vectors import reader as vector_reader
from helix_shared.artifacts.vectors.reader import VectorReader
from helix_shared.artifacts.vectors.writer import VectorWriter
from helix_shared.errors import CorruptArtifactError, InvalidInputError

Records = Callable[[list[dict[str, Any]]], pa.Table]
ACME = Selection("acme")


@pytest.fixture
def writer(tmp_path: Path) -> VectorWriter:
    """An empty table."""
    return VectorWriter.create(tmp_path, 8)


def test_a_record_comes_back_as_it_went_in(tmp_path: Path, writer: VectorWriter, records: Records) -> None:
    """Every column survives the table, through the writer and through a reader."""
    table = records([{"text": "naïve\0🙂", "audience": ["a", "b"]}, {"text": "two"}])
    writer.upsert(table)
    expected = table.to_pylist()
    assert writer.take([0, 1]).sort_by("ordinal").to_pylist() == expected
    assert VectorReader(tmp_path).take([1, 0]).to_pylist() == [expected[1], expected[0]]


def test_take_keeps_the_order_given_and_leaves_out_what_is_not_there(
    tmp_path: Path, writer: VectorWriter, records: Records
) -> None:
    """A reader's rows follow the ordinals; an unknown or negative one is no row."""
    writer.upsert(records([{} for _ in range(5)]))
    writer.delete([2])
    taken = VectorReader(tmp_path).take([4, -1, 2, 0, 99, 4], columns=["text"])
    assert taken["ordinal"].to_pylist() == [4, 0, 4]
    assert taken.column_names == ["ordinal", "text"]


def test_upsert_replaces_and_delete_removes(writer: VectorWriter, records: Records) -> None:
    """One row per memory id, and none after a delete."""
    writer.upsert(records([{"text": "old"}, {"text": "stays"}]))
    writer.upsert(records([{"text": "new"}]))
    assert writer.count == 2
    assert sorted(writer.scan(["text"])["text"].to_pylist()) == ["new", "stays"]
    writer.delete([0])
    assert writer.find([f"{0:032x}", f"{1:032x}"])["ordinal"].to_pylist() == [1]


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
    monkeypatch.setattr(vector_index, "INDEX_ROWS", 300)
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


def test_rows_outside_the_index_are_told_and_left_out_when_asked(
    tmp_path: Path, writer: VectorWriter, records: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    """New rows and rewritten ones are the tail; a search of the index alone misses them."""
    monkeypatch.setattr(vector_index, "INDEX_ROWS", 300)
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


def test_maintenance_waits_until_it_pays_and_folds_the_table_when_forced(
    tmp_path: Path, writer: VectorWriter, records: Records
) -> None:
    """A few writes are left alone; a forced run leaves one data file and no old version."""
    for index in range(4):
        writer.upsert(records([{"ordinal": index, "text": "secret" if index == 0 else ""}]))
    writer.delete([0])
    assert not writer.maintain()
    assert writer.maintain(force=True)
    data = list((tmp_path / "memories.lance" / "data").iterdir())
    assert len(data) == 1
    assert b"secret" not in data[0].read_bytes()
    assert len(list((tmp_path / "memories.lance" / "_versions").glob("*.manifest"))) == 1


def test_a_table_at_rest_becomes_one_fragment(tmp_path: Path, writer: VectorWriter, records: Records) -> None:
    """Every fragment costs each search; with nothing else to do even a few are folded, once."""
    for index in range(3):
        writer.upsert(records([{"ordinal": index}]))
    assert not writer.maintain()
    assert writer.maintain(resting=True)
    assert len(list((tmp_path / "memories.lance" / "data").iterdir())) == 1
    assert not writer.maintain(resting=True)


def test_a_linked_version_outlives_changes_of_the_live_table(
    tmp_path: Path, writer: VectorWriter, records: Records
) -> None:
    """A published table is unmoved by upserts, deletes and compaction of the live one."""
    writer.upsert(records([{"text": "then"}, {}]))
    writer.link_into(tmp_path / "linked")
    reader = VectorReader(tmp_path / "linked")
    writer.upsert(records([{"text": "now"}]))
    writer.delete([1])
    writer.maintain(force=True)
    for published in (reader, VectorReader(tmp_path / "linked")):
        assert published.take([0, 1], columns=["text"])["text"].to_pylist() == ["then", ""]
    assert writer.count == 1


def test_a_linked_version_can_be_written_on(tmp_path: Path, writer: VectorWriter, records: Records) -> None:
    """A clone is a table of its own: it takes upserts and keeps its primary key."""
    writer.upsert(records([{"text": "a"}]))
    writer.link_into(tmp_path / "linked")
    clone = VectorWriter.open(tmp_path / "linked")
    clone.upsert(records([{"text": "b"}, {}]))
    assert (clone.count, writer.count) == (2, 1)


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
    """Zero, not finite or of another length: LanceDB would find nothing and say nothing."""
    writer.upsert(records([{}]))
    with pytest.raises(InvalidInputError, match=r"^vector: "):
        VectorReader(tmp_path).search(vector.astype(np.float32), ACME, limit=1)


@pytest.mark.parametrize("limit", [0, -1, 10_001, 2**40])
def test_a_limit_out_of_bounds_is_refused(tmp_path: Path, writer: VectorWriter, limit: int) -> None:
    """An engine never sees a limit that makes it fail or reserve memory without bound."""
    assert writer.count == 0
    with pytest.raises(InvalidInputError, match=r"^limit: "):
        VectorReader(tmp_path).search(np.ones(8, np.float32), ACME, limit=limit)


def test_an_empty_table_answers_everything_with_nothing(tmp_path: Path, writer: VectorWriter) -> None:
    """Search, take, find and scan of a table without rows."""
    reader = VectorReader(tmp_path)
    reader.warm()
    assert len(reader.search(np.ones(8, np.float32), ACME, limit=5)) == 0
    assert reader.take([0]).num_rows == reader.find(["0" * 32]).num_rows == reader.find([]).num_rows == 0
    assert writer.scan(["text"]).num_rows == writer.take([]).num_rows == 0


def test_records_that_do_not_fit_are_refused(writer: VectorWriter, records: Records) -> None:
    """A missing column, a null, and one id twice leave the table as it was."""
    table = records([{}, {}])
    twice = pa.concat_tables([table, table])
    null = table.set_column(table.column_names.index("text"), "text", pa.array([None, ""], pa.string()))
    for wrong in (table.drop_columns(["text"]), twice, null):
        with pytest.raises(InvalidInputError, match=r"^records: "):
            writer.upsert(wrong)
    assert writer.count == 0


def test_a_folder_without_a_table_is_corrupt(tmp_path: Path, writer: VectorWriter, records: Records) -> None:
    """A missing table or manifest is told as what it is."""
    writer.upsert(records([{}]))
    with pytest.raises(CorruptArtifactError, match="has no vector table"):
        VectorReader(tmp_path / "nowhere")
    for manifest in (tmp_path / "memories.lance" / "_versions").iterdir():
        manifest.write_bytes(b"")
    with pytest.raises(CorruptArtifactError, match="cannot be read"):
        VectorReader(tmp_path)


def test_a_later_reader_adds_to_what_an_earlier_one_knows(tmp_path: Path, records: Records) -> None:
    """Updates, deletions, compaction and new rows: row ids stay, so the map only grows."""
    writer = VectorWriter.create(tmp_path / "live", 8)
    writer.upsert(records([{} for _ in range(40)]))
    writer.link_into(tmp_path / "1")
    first = VectorReader(tmp_path / "1")
    assert first.take([7])["ordinal"].to_pylist() == [7]
    writer.upsert(records([{"ordinal": ordinal, "text": "new"} for ordinal in (42, 3, 41, 40)]))
    writer.delete([5, 39])
    writer.maintain(force=True)
    writer.link_into(tmp_path / "2")
    second = VectorReader(tmp_path / "2", previous=first)
    assert second.take([42, 5, 3, 0, 39, 41, 40, 99], columns=["text"])["text"].to_pylist() == [
        "new", "new", "", "new", "new",
    ]  # fmt: skip
    hits = second.search(np.ones(8, np.float32), Selection("acme"), limit=100)
    assert sorted(hits.ordinals.tolist()) == [o for o in range(43) if o not in (5, 39)]
    assert sorted(first.search(np.ones(8, np.float32), Selection("acme"), limit=100).ordinals) == list(
        range(40)
    )


def test_a_reader_does_not_trust_the_map_of_another_table(tmp_path: Path, records: Records) -> None:
    """A folder that was built anew may have given its row ids otherwise."""
    for name, order in (("1", range(9)), ("2", reversed(range(9)))):
        writer = VectorWriter.create(tmp_path / f"live{name}", 8)
        for ordinal in order:
            writer.upsert(records([{"ordinal": ordinal}]))
        writer.link_into(tmp_path / name)
    first = VectorReader(tmp_path / "1")
    assert first.take([2])["ordinal"].to_pylist() == [2]
    assert VectorReader(tmp_path / "2", previous=first).take([2])["ordinal"].to_pylist() == [2]


def test_a_reader_that_holds_its_files_answers_when_the_folder_is_gone(
    tmp_path: Path, records: Records
) -> None:
    """With an index, deletions and versions: what the engine opens late is still there, and then let go."""
    writer = VectorWriter.create(tmp_path / "live", 8)
    superseded = {"hidden": True, "is_latest": False, "text": "old"}
    writer.upsert(records([superseded, *({"text": "same"} for _ in range(vector_index.INDEX_ROWS + 100))]))
    writer.maintain()
    writer.delete([3])
    writer.upsert(records([{"ordinal": 5_000, "corrects": f"{0:032x}", "text": "new"}]))
    writer.link_into(tmp_path / "1")
    reader = VectorReader(tmp_path / "1", scratch=tmp_path / "scratch")
    assert reader.index is not None
    shutil.rmtree(tmp_path / "1")
    shutil.rmtree(tmp_path / "live")
    hits = reader.search(np.ones(8, np.float32), ACME, limit=50)
    assert len(hits) == 50
    assert reader.take([5_000, 3, 4], columns=["text"])["text"].to_pylist() == ["new", "same"]
    assert reader.find([f"{5_000:032x}"], ["ordinal"])["ordinal"].to_pylist() == [5_000]
    assert reader.versions.ordinals.tolist() == [0]
    assert sum(len(ordinals) for ordinals, _ in reader.whole()) == reader.count
    reader.warm(whole=True)
    reader.close()
    reader.close()
    assert list((tmp_path / "scratch").iterdir()) == []


def test_readers_of_one_scratch_folder_do_not_touch_each_other(tmp_path: Path, records: Records) -> None:
    """A later version, another store, one set back: each reads its own, in whatever order they end."""
    scratch, readers = tmp_path / "scratch", []
    for name, writes in (("old", 3), ("anew", 3), ("behind", 1)):
        writer = VectorWriter.create(tmp_path / f"live-{name}", 8)
        for _ in range(writes):
            writer.upsert(records([{"text": name}]))
        writer.link_into(tmp_path / name)
        readers.append(VectorReader(tmp_path / name, previous=(readers or [None])[-1], scratch=scratch))
        shutil.rmtree(tmp_path / name)
    readers.pop(1).close()
    texts = [reader.take([0], columns=["text"])["text"].to_pylist() for reader in readers]
    assert texts == [["old"], ["behind"]]


def test_a_reader_that_fails_leaves_no_link(
    tmp_path: Path, records: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a refused generation held is let go, and the one that serves goes on."""
    scratch = tmp_path / "scratch"
    writer = VectorWriter.create(tmp_path / "live", 8)
    writer.upsert(records([{"text": "good"}]))
    writer.link_into(tmp_path / "1")
    first = VectorReader(tmp_path / "1", scratch=scratch)
    before = sorted(path for path in scratch.rglob("*"))
    writer.upsert(records([{"ordinal": 1}]))
    writer.link_into(tmp_path / "2")
    monkeypatch.setattr(vector_reader, "vector_index", _broken)
    with pytest.raises(RuntimeError):
        VectorReader(tmp_path / "2", previous=first, scratch=scratch)
    assert sorted(path for path in scratch.rglob("*")) == before
    shutil.rmtree(tmp_path / "2")
    assert first.take([0], columns=["text"])["text"].to_pylist() == ["good"]
    with pytest.raises(CorruptArtifactError, match="has no vector table"):
        VectorReader(tmp_path / "nowhere", previous=first, scratch=scratch)
    assert sorted(path for path in scratch.rglob("*")) == before


def _broken(_table: Any) -> None:
    raise RuntimeError
