"""Compaction and index builds beside the writer: nothing is lost, nothing unfinished is published."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from helix_shared.artifacts.vectors import maintenance
from helix_shared.artifacts.vectors.files import link_version, remove_superseded
from helix_shared.artifacts.vectors.reader import VectorReader
from helix_shared.artifacts.vectors.writer import VectorWriter
from helix_shared.errors import CorruptArtifactError

Records = Callable[[list[dict[str, Any]]], pa.Table]
ROWS = 6_000
TABLE = "memories.lance"


def texts(table: pa.Table) -> dict[int, str]:
    """What a table says, by ordinal."""
    found = dict(zip(table["ordinal"].to_pylist(), table["text"].to_pylist(), strict=True))
    assert len(found) == table.num_rows
    return found


def everything(folder: Path) -> dict[int, str]:
    """What a linked version says, read through its own table."""
    return texts(VectorWriter.open(folder).scan(["ordinal", "text"]))


def files(folder: Path) -> set[str]:
    """Paths of a table's files."""
    table = folder / TABLE
    return {path.relative_to(table).as_posix() for path in table.rglob("*") if path.is_file()}


@pytest.mark.parametrize("is_inserting_alone", [True, False])
def test_what_is_written_and_linked_while_indices_are_built_is_whole(
    tmp_path: Path, records: Records, *, is_inserting_alone: bool
) -> None:
    """Every version linked meanwhile holds exactly the rows written until then; so does the last."""
    writer = VectorWriter.create(tmp_path / "live", 8)
    truth = dict.fromkeys(range(ROWS), "old")
    for start in range(0, ROWS, 2_000):
        writer.upsert(records([{"ordinal": start + row, "text": "old"} for row in range(2_000)]))
    rng, linked = random.Random(5), 0
    writer.begin_maintenance()
    assert writer.is_maintained
    while writer.is_maintained:
        changed = [] if is_inserting_alone else rng.sample(sorted(truth), 3)
        rows = dict.fromkeys([*changed, ROWS + linked], f"new {linked}")
        writer.upsert(records([{"ordinal": ordinal, "text": text} for ordinal, text in rows.items()]))
        truth |= rows
        if not is_inserting_alone:
            writer.delete([changed[0]])
            del truth[changed[0]]
        writer.link_into(tmp_path / f"{linked}")
        assert everything(tmp_path / f"{linked}") == truth
        linked += 1
        writer.finish_maintenance()
    assert linked > 1
    assert texts(writer.scan(["ordinal", "text"])) == truth
    writer.link_into(tmp_path / "last")
    assert everything(tmp_path / "last") == truth
    reader = VectorReader(tmp_path / "last")
    for ordinal in rng.sample(sorted(truth), 5):
        vector = np.array(reader.take([ordinal])["vector"].to_pylist()[0], np.float32)
        hits = reader.search(vector, None, limit=20).ordinals.tolist()
        assert hits[0] == ordinal
        assert len(set(hits)) == 20


def test_files_that_no_version_names_are_not_linked_and_go_with_the_next_cleaning(
    tmp_path: Path, records: Records
) -> None:
    """An `optimize` under way has half a data file and half an index there."""
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
    assert len(everything(tmp_path / "linked")) == 2_099
    remove_superseded(tmp_path / "live")
    hint = {"_versions/latest_version_hint.json"}
    assert files(tmp_path / "live") - hint == files(tmp_path / "linked")
    assert len(everything(tmp_path / "live")) == 2_099


def test_one_deleted_row_of_many_leaves_no_byte_when_forced(tmp_path: Path, records: Records) -> None:
    """Compaction alone leaves deleted rows where they are less than a tenth of a file."""
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


def test_an_erased_id_is_in_no_index_either(tmp_path: Path, records: Records) -> None:
    """Folding an index keeps the values of rows that were deleted."""
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


def test_preempted_compaction_waits_for_rest_and_is_forced_when_overdue(
    tmp_path: Path, records: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A change of old rows that comes first wins; compaction is not tried in vain again and again."""
    writer = VectorWriter.create(tmp_path, 8)
    for index in range(maintenance.FEWEST_FRAGMENTS):
        writer.upsert(records([{"ordinal": index}]))

    def preempted(*_: Any, **__: Any) -> bool:
        raise RuntimeError("Retryable commit conflict")

    with monkeypatch.context() as patch:
        patch.setattr("helix_shared.artifacts.vectors.writer._improve", preempted)
        writer.begin_maintenance()
        assert writer.finish_maintenance(wait=True)
    writer.begin_maintenance()
    assert not writer.is_maintained
    for index in range(maintenance.FEWEST_FRAGMENTS):
        writer.upsert(records([{"ordinal": 100 + index}]))
    writer.begin_maintenance()
    assert not writer.is_maintained
    assert len(list((tmp_path / TABLE / "data").iterdir())) == 1
    writer.upsert(records([{"ordinal": 200}]))
    writer.begin_maintenance(resting=True)
    assert writer.finish_maintenance(wait=True)
    assert len(list((tmp_path / TABLE / "data").iterdir())) == 1


def test_a_manifest_of_another_format_is_refused(tmp_path: Path, records: Records) -> None:
    """What cannot be read for certain is neither linked nor cleaned."""
    writer = VectorWriter.create(tmp_path / "live", 8)
    writer.upsert(records([{}]))
    newest = min((tmp_path / "live" / TABLE / "_versions").glob("*.manifest"))
    body = newest.read_bytes()
    for damaged in (body[:-1] + b"X", body[:-16] + b"\xff" * 8 + body[-8:], body[-16:]):
        newest.unlink()
        newest.write_bytes(damaged)
        with pytest.raises(CorruptArtifactError, match="manifest of the vector table"):
            link_version(tmp_path / "live", tmp_path / "linked")
