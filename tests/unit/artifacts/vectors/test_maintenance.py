"""Background maintenance: no row is lost, and no unfinished file is published."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from lancedb.table import LanceTable

from helix_shared.artifacts.vectors import maintenance
from helix_shared.artifacts.vectors.files import link_version, remove_superseded
from helix_shared.artifacts.vectors.manifest_pb2 import DataFragment, Manifest, OtherFile
from helix_shared.artifacts.vectors.reader import VectorReader
from helix_shared.artifacts.vectors.table import open_table
from helix_shared.artifacts.vectors.writer import VectorWriter
from helix_shared.errors import CorruptArtifactError

Records = Callable[[list[dict[str, Any]]], pa.Table]
ROWS = 6_000
TABLE = "memories.lance"


def texts(table: pa.Table) -> dict[int, str]:
    """Texts of a table by ordinal."""
    found = dict(zip(table["ordinal"].to_pylist(), table["text"].to_pylist(), strict=True))
    assert len(found) == table.num_rows
    return found


def texts_in(folder: Path) -> dict[int, str]:
    """Texts of a linked version by ordinal."""
    return texts(VectorWriter.open(folder).scan(["ordinal", "text"]))


def parts_of(folder: Path) -> int:
    """Parts of the vector index."""
    table = open_table(folder)
    index = maintenance.vector_index(table)
    return 0 if index is None else int(table.index_stats(index.name).num_indices)


def files(folder: Path) -> set[str]:
    """Paths of a table's files."""
    table = folder / TABLE
    return {path.relative_to(table).as_posix() for path in table.rglob("*") if path.is_file()}


@pytest.mark.parametrize("only_inserts", [True, False])
def test_rows_written_and_linked_during_maintenance_are_complete(
    tmp_path: Path, records: Records, *, only_inserts: bool
) -> None:
    """Every version linked meanwhile, and the last, holds exactly the rows written so far."""
    writer = VectorWriter.create(tmp_path / "live", 8)
    truth = dict.fromkeys(range(ROWS), "old")
    for start in range(0, ROWS, 2_000):
        writer.upsert(records([{"ordinal": start + row, "text": "old"} for row in range(2_000)]))
    rng, linked = random.Random(5), 0
    writer.begin_maintenance()
    assert writer.is_maintaining
    while writer.is_maintaining:
        changed = [] if only_inserts else rng.sample(sorted(truth), 3)
        rows = dict.fromkeys([*changed, ROWS + linked], f"new {linked}")
        writer.upsert(records([{"ordinal": ordinal, "text": text} for ordinal, text in rows.items()]))
        truth |= rows
        if not only_inserts:
            writer.delete([changed[0]])
            del truth[changed[0]]
        writer.link_into(tmp_path / f"{linked}")
        assert texts_in(tmp_path / f"{linked}") == truth
        linked += 1
        # its result stays where it is until two versions were linked, also where it is there before
        if linked > 1:
            writer.finish_maintenance()
    assert linked > 1
    assert texts(writer.scan(["ordinal", "text"])) == truth
    writer.link_into(tmp_path / "last")
    assert texts_in(tmp_path / "last") == truth
    reader = VectorReader(tmp_path / "last")
    for ordinal in rng.sample(sorted(truth), 5):
        vector = np.array(reader.take([ordinal])["vector"].to_pylist()[0], np.float32)
        hits = reader.search(vector, None, limit=20).ordinals.tolist()
        assert hits[0] == ordinal
        assert len(set(hits)) == 20


def test_unfinished_files_are_not_linked_and_are_removed_with_old_versions(
    tmp_path: Path, records: Records
) -> None:
    """A running `optimize` has incomplete data and index files in the folder."""
    writer = VectorWriter.create(tmp_path / "live", 8)
    writer.upsert(records([{} for _ in range(2_100)]))
    writer.maintain(force=True)
    writer.delete([7])
    unfinished = (
        "data/0123.lance",
        "_indices/6f1e0c3c-8f63-4d63-9f0c-0a8f6a3c2b11/index.idx",
        "_deletions/0-1-7.arrow",
    )
    for name in unfinished:
        (tmp_path / "live" / TABLE / name).parent.mkdir(exist_ok=True)
        (tmp_path / "live" / TABLE / name).write_bytes(b"half")
    writer.link_into(tmp_path / "linked")
    assert not files(tmp_path / "linked").intersection(unfinished)
    assert len(texts_in(tmp_path / "linked")) == 2_099
    remove_superseded(tmp_path / "live")
    hint = {"_versions/latest_version_hint.json"}
    assert files(tmp_path / "live") - hint == files(tmp_path / "linked")
    assert len(texts_in(tmp_path / "live")) == 2_099


def test_forced_maintenance_removes_the_bytes_of_one_deleted_row(tmp_path: Path, records: Records) -> None:
    """Compaction skips files with fewer than a tenth of deleted rows."""
    writer = VectorWriter.create(tmp_path, 8)
    secret = bytes(range(60, 124)).decode()
    writer.upsert(records([{"text": secret if row == 50 else ""} for row in range(300)]))

    def holds_secret() -> bool:
        found = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
        return any(secret.encode() in body for body in found)

    assert holds_secret()
    writer.delete([50])
    writer.maintain(force=True)
    assert not holds_secret()
    assert not list((tmp_path / TABLE / "_deletions").glob("*"))
    assert sorted(texts(writer.scan(["ordinal", "text"]))) == [row for row in range(300) if row != 50]


def test_forced_maintenance_removes_a_deleted_id_from_the_indices(tmp_path: Path, records: Records) -> None:
    """LanceDB's `optimize` keeps the values of deleted rows in an index."""
    writer = VectorWriter.create(tmp_path, 8)
    writer.upsert(records([{} for _ in range(maintenance.INDEX_ROWS + 1)]))
    secret = bytes(range(60, 92)).decode()
    writer.upsert(records([{"ordinal": 5_000, "memory_id": secret}]))
    writer.maintain(force=True)
    table = tmp_path / TABLE

    def holders() -> set[str]:
        found = [path for path in table.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()]
        return {path.relative_to(table).parts[0] for path in found}

    assert "_indices" in holders()
    writer.delete([5_000])
    writer.maintain(force=True)
    assert holders() == set()
    assert writer.find(["0" * 32])["ordinal"].to_pylist() == [0]


def test_aborted_compaction_waits_for_an_idle_table_and_is_forced_when_overdue(
    tmp_path: Path, records: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a conflict with a write, compaction is not repeated at once."""
    writer = VectorWriter.create(tmp_path, 8)
    for index in range(maintenance.FEWEST_FRAGMENTS):
        writer.upsert(records([{"ordinal": index}]))

    def conflict(*_: Any, **__: Any) -> bool:
        raise RuntimeError("Retryable commit conflict")

    with monkeypatch.context() as patch:
        patch.setattr(LanceTable, "optimize", conflict)
        writer.begin_maintenance()
        assert writer.finish_maintenance(wait=True)
    writer.begin_maintenance()
    assert not writer.is_maintaining
    for index in range(maintenance.FEWEST_FRAGMENTS):
        writer.upsert(records([{"ordinal": 100 + index}]))
    writer.begin_maintenance()
    assert not writer.is_maintaining
    assert len(list((tmp_path / TABLE / "data").iterdir())) == 1
    writer.upsert(records([{"ordinal": 200}]))
    writer.begin_maintenance(resting=True)
    assert writer.finish_maintenance(wait=True)
    assert len(list((tmp_path / TABLE / "data").iterdir())) == 1


def test_changes_that_keep_coming_do_not_put_compaction_off_for_ever(
    tmp_path: Path, records: Records
) -> None:
    """Each attempt on the idle table is aborted by the next change of an old row, until it is overdue."""
    writer, changed = VectorWriter.create(tmp_path, 8), 0
    writer.upsert(records([{"ordinal": row} for row in range(ROWS)]))
    writer.maintain(force=True)
    attempts, forced = 0, 0
    while forced < 2 and attempts < 30:
        for _ in range(2):
            changed += 1
            writer.upsert(records([{"ordinal": changed % ROWS, "text": f"change {changed}"}]))
        forced += writer.begin_maintenance(resting=True)
        if writer.is_maintaining:
            fragments = int(open_table(tmp_path).stats()["fragment_stats"]["num_fragments"])
            assert fragments < maintenance.OVERDUE * maintenance.FEWEST_FRAGMENTS
            attempts += 1
            # until the attempt has ended
            while not writer.finish_maintenance():
                changed += 1
                writer.upsert(records([{"ordinal": 7 * changed % ROWS, "text": f"change {changed}"}]))
    assert len(texts(writer.scan(["ordinal", "text"]))) == ROWS
    assert attempts > 1


def test_an_indexed_table_keeps_few_fragments_and_few_parts_of_its_vector_index(
    tmp_path: Path, records: Records
) -> None:
    """`optimize` adds a part to the index each time, and no compaction merges fragments of two parts."""
    writer = VectorWriter.create(tmp_path, 8)
    rows, fragments, most = maintenance.INDEX_ROWS + 1, maintenance.FEWEST_FRAGMENTS, 0
    writer.upsert(records([{"ordinal": row} for row in range(rows)]))
    for written in range(6 * fragments):
        writer.upsert(records([{"ordinal": rows + written}]))
        writer.maintain()
        most = max(most, len(list((tmp_path / TABLE / "data").iterdir())), parts_of(tmp_path))
    assert 1 < most <= fragments
    writer.upsert(records([{"ordinal": rows + 6 * fragments}]))
    writer.maintain(resting=True)
    assert parts_of(tmp_path) == len(list((tmp_path / TABLE / "data").iterdir())) == 1
    assert len(texts_in(tmp_path)) == rows + 6 * fragments + 1


def test_a_manifest_of_another_format_is_refused(tmp_path: Path, records: Records) -> None:
    """Its version is neither linked nor cleaned up."""
    writer = VectorWriter.create(tmp_path / "live", 8)
    writer.upsert(records([{}]))
    newest = min((tmp_path / "live" / TABLE / "_versions").glob("*.manifest"))
    body = newest.read_bytes()
    for damaged in (body[:-1] + b"X", body[:-16] + b"\xff" * 8 + body[-8:], body[-16:]):
        newest.unlink()
        newest.write_bytes(damaged)
        with pytest.raises(CorruptArtifactError, match="manifest of the vector table"):
            link_version(tmp_path / "live", tmp_path / "linked")


@pytest.mark.parametrize("field", ["external_row_ids", "external_created_at", "overlays"])
def test_a_fragment_with_files_of_an_unknown_kind_is_refused(tmp_path: Path, field: str) -> None:
    """A link without these files would be an incomplete version."""
    other: Any = [OtherFile()] if field == "overlays" else OtherFile()
    body = Manifest(fragments=[DataFragment(id=1, **{field: other})]).SerializeToString()
    versions = tmp_path / TABLE / "_versions"
    versions.mkdir(parents=True)
    trailer = (0).to_bytes(8, "little") + bytes(4) + b"LANC"
    (versions / "1.manifest").write_bytes(len(body).to_bytes(4, "little") + body + trailer)
    with pytest.raises(CorruptArtifactError, match="cannot be read"):
        link_version(tmp_path, tmp_path / "linked")
