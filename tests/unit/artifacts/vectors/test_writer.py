"""The writer of the vector table: upsert, delete, link, compact."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import lancedb
import pyarrow as pa
import pytest

from helix_shared.artifacts.vectors import table as vector_table
from helix_shared.artifacts.vectors.reader import VectorReader
from helix_shared.artifacts.vectors.writer import VectorWriter
from helix_shared.errors import InvalidInputError

Records = Callable[[list[dict[str, Any]]], pa.Table]
LANCE_SESSION = lancedb.Session


@pytest.fixture
def writer(tmp_path: Path) -> VectorWriter:
    """An empty table."""
    return VectorWriter.create(tmp_path, 8)


def test_a_record_is_read_as_it_was_written(tmp_path: Path, writer: VectorWriter, records: Records) -> None:
    """Every column but the token codes, of which the table has no copy, through the writer and a reader."""
    rows = records([{"text": "naïve\0🙂", "audience": ["a", "b"]}, {"text": "two"}])
    writer.upsert(rows)
    expected = rows.drop_columns(["token_codes"]).to_pylist()
    assert writer.take([0, 1]).sort_by("ordinal").to_pylist() == expected
    assert VectorReader(tmp_path).take([1, 0]).to_pylist() == [expected[1], expected[0]]


def test_upsert_replaces_and_delete_removes(writer: VectorWriter, records: Records) -> None:
    """One row per memory id, and none after a delete."""
    writer.upsert(records([{"text": "old"}, {"text": "stays"}]))
    writer.upsert(records([{"text": "new"}]))
    assert writer.count == 2
    assert sorted(writer.scan(["text"])["text"].to_pylist()) == ["new", "stays"]
    writer.delete([0])
    assert writer.find([f"{0:032x}", f"{1:032x}"])["ordinal"].to_pylist() == [1]


@pytest.mark.parametrize("reopened", [False, True])
def test_the_caches_of_a_writer_are_bounded(
    tmp_path: Path, records: Records, monkeypatch: pytest.MonkeyPatch, *, reopened: bool
) -> None:
    """Every version has entries of its own in them; without a limit an hour of events takes gigabytes."""
    sessions: list[lancedb.Session] = []
    limits = {"bounded": 32 << 10, "not": 1 << 30}

    def held(limit: str) -> int:
        """Bytes that the caches hold after some versions."""

        def session(*_: int) -> lancedb.Session:
            sessions.append(LANCE_SESSION(limits[limit], limits[limit]))
            return sessions[-1]

        monkeypatch.setattr(vector_table.lancedb, "Session", session)
        writer = VectorWriter.create(tmp_path / limit, 8)
        if reopened:
            writer = VectorWriter.open(tmp_path / limit)
        for index in range(12):
            writer.upsert(records([{"ordinal": index}]))
            writer.find([f"{index:032x}"])
        return int(sessions[-1].size_bytes)

    assert held("not") > 2 * limits["bounded"] >= held("bounded") > 0


def test_maintenance_waits_until_it_pays_unless_forced(
    tmp_path: Path, writer: VectorWriter, records: Records
) -> None:
    """A forced run leaves one data file and no old version."""
    for index in range(4):
        writer.upsert(records([{"ordinal": index, "text": "secret" if index == 0 else ""}]))
    writer.delete([0])
    assert not writer.maintain()
    assert writer.maintain(force=True)
    data = list((tmp_path / "memories.lance" / "data").iterdir())
    assert len(data) == 1
    assert b"secret" not in data[0].read_bytes()
    assert len(list((tmp_path / "memories.lance" / "_versions").glob("*.manifest"))) == 1


def test_an_idle_table_is_compacted_to_one_fragment(
    tmp_path: Path, writer: VectorWriter, records: Records
) -> None:
    """Every fragment slows each search; with nothing else to do even a few are merged, once."""
    for index in range(3):
        writer.upsert(records([{"ordinal": index}]))
    assert not writer.maintain()
    assert writer.maintain(resting=True)
    assert len(list((tmp_path / "memories.lance" / "data").iterdir())) == 1
    assert not writer.maintain(resting=True)


def test_a_linked_version_does_not_change_with_the_live_table(
    tmp_path: Path, writer: VectorWriter, records: Records
) -> None:
    """Upserts, deletes and compaction of the live table do not reach it."""
    writer.upsert(records([{"text": "then"}, {}]))
    writer.link_into(tmp_path / "linked")
    reader = VectorReader(tmp_path / "linked")
    writer.upsert(records([{"text": "now"}]))
    writer.delete([1])
    writer.maintain(force=True)
    for published in (reader, VectorReader(tmp_path / "linked")):
        assert published.take([0, 1], columns=["text"])["text"].to_pylist() == ["then", ""]
    assert writer.count == 1


def test_a_linked_version_can_be_written(tmp_path: Path, writer: VectorWriter, records: Records) -> None:
    """It is an independent table with the same primary key."""
    writer.upsert(records([{"text": "a"}]))
    writer.link_into(tmp_path / "linked")
    clone = VectorWriter.open(tmp_path / "linked")
    clone.upsert(records([{"text": "b"}, {}]))
    assert (clone.count, writer.count) == (2, 1)


def test_records_that_do_not_fit_are_refused(writer: VectorWriter, records: Records) -> None:
    """A missing column, a null or a repeated id leaves the table unchanged."""
    table = records([{}, {}])
    twice = pa.concat_tables([table, table])
    null = table.set_column(table.column_names.index("text"), "text", pa.array([None, ""], pa.string()))
    for wrong in (table.drop_columns(["text"]), twice, null):
        with pytest.raises(InvalidInputError, match=r"^records: "):
            writer.upsert(wrong)
    assert writer.count == 0
