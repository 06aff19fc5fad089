"""The reader's row map and the files it holds."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from helix_shared.artifacts.filter.selection import Selection
from helix_shared.artifacts.vectors import maintenance
from helix_shared.artifacts.vectors import reader as vector_reader
from helix_shared.artifacts.vectors.reader import VectorReader
from helix_shared.artifacts.vectors.writer import VectorWriter
from helix_shared.errors import CorruptArtifactError

Records = Callable[[list[dict[str, Any]]], pa.Table]
ACME = Selection("acme")


def test_a_later_reader_extends_the_row_map_of_an_earlier_one(tmp_path: Path, records: Records) -> None:
    """Row ids stay the same through updates, deletions and compaction; what is deleted has no row."""
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
    assert second.take([5, 39])["ordinal"].to_pylist() == []
    hits = second.search(np.ones(8, np.float32), Selection("acme"), limit=100)
    assert sorted(hits.ordinals.tolist()) == [o for o in range(43) if o not in (5, 39)]
    assert sorted(first.search(np.ones(8, np.float32), Selection("acme"), limit=100).ordinals) == list(
        range(40)
    )


def test_a_reader_does_not_reuse_the_row_map_of_another_table(tmp_path: Path, records: Records) -> None:
    """A rebuilt table may have other row ids."""
    for name, order in (("1", range(9)), ("2", reversed(range(9)))):
        writer = VectorWriter.create(tmp_path / f"live{name}", 8)
        for ordinal in order:
            writer.upsert(records([{"ordinal": ordinal}]))
        writer.link_into(tmp_path / name)
    first = VectorReader(tmp_path / "1")
    assert first.take([2])["ordinal"].to_pylist() == [2]
    assert VectorReader(tmp_path / "2", previous=first).take([2])["ordinal"].to_pylist() == [2]


def test_a_reader_that_holds_its_files_works_after_the_folder_is_removed(
    tmp_path: Path, records: Records
) -> None:
    """Files that LanceDB opens late (indices, deletions) are held until the reader is closed."""
    writer = VectorWriter.create(tmp_path / "live", 8)
    superseded = {"hidden": True, "is_latest": False, "text": "old"}
    writer.upsert(records([superseded, *({"text": "same"} for _ in range(maintenance.INDEX_ROWS + 100))]))
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
    assert sum(len(ordinals) for ordinals, _ in reader.all_vectors()) == reader.count
    reader.warm(with_index=True)
    reader.close()
    reader.close()
    assert list((tmp_path / "scratch").iterdir()) == []


def test_readers_of_one_scratch_folder_are_independent(tmp_path: Path, records: Records) -> None:
    """A later version, a rebuilt store, an older version: each reads its own files."""
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


def test_a_reader_that_fails_to_open_leaves_no_link(
    tmp_path: Path, records: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its files are released; the earlier reader still works."""
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
