"""Records: read as they were written, kept through merges, and gone when erased."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helix_shared.artifacts.signals.columns import signals_of
from helix_shared.artifacts.signals.reader import Signals
from helix_shared.artifacts.signals.record_file import (
    RECORD_COLUMNS,
    RecordFile,
    encoded_records,
    open_records,
    write_gathered_records,
    write_records,
)
from helix_shared.artifacts.signals.writer import SignalsWriter
from helix_shared.errors import CorruptArtifactError

Records = Callable[[list[dict[str, Any]]], pa.Table]


def test_a_record_holds_its_columns(records: Records) -> None:
    """All of `RECORD_COLUMNS`, as readable JSON."""
    table = records([{"text": 'Zoë said:\n"it\'s {here}"', "audience": ["ops", "dev"]}])
    line = json.loads(encoded_records(table)[0])
    assert tuple(line) == RECORD_COLUMNS
    assert line["text"] == 'Zoë said:\n"it\'s {here}"'
    assert line["audience"] == ["ops", "dev"]


def test_records_are_in_the_order_of_the_ordinals(tmp_path: Path, records: Records) -> None:
    """Across segments, the newest version of each; ordinals without a row are left out."""
    writer = SignalsWriter.open(tmp_path / "s")
    writer.append(*signals_of(records([{"text": f"text {number}"} for number in range(9)])))
    writer.append(*signals_of(records([{"ordinal": 4, "text": "text 4, corrected"}])))
    signals = Signals.open(tmp_path / "s")
    assert len(signals.segments) == 2
    found = signals.records(np.array([7, 4, 99, -1, 0]))
    assert [(line["ordinal"], line["text"]) for line in found] == [
        (7, "text 7"),
        (4, "text 4, corrected"),
        (0, "text 0"),
    ]


def test_an_erased_memory_leaves_no_byte(tmp_path: Path, records: Records) -> None:
    """It is neither returned nor in a file."""
    writer = SignalsWriter.open(tmp_path / "s")
    writer.append(*signals_of(records([{"text": "keep"}, {"text": "canary-7"}, {"text": "also"}])))
    writer.erase(np.array([1]))
    writer.compact()
    signals = Signals.open(tmp_path / "s")
    assert [line["text"] for line in signals.records(np.arange(3))] == ["keep", "also"]
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and b"canary-7" in path.read_bytes()]


def test_a_cut_file_is_corrupt(tmp_path: Path, records: Records) -> None:
    """A segment whose file of records is too short is refused."""
    SignalsWriter.open(tmp_path / "s").append(*signals_of(records([{}, {}])))
    file = tmp_path / "s" / "seg-000001" / "lines.jsonl"
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(CorruptArtifactError, match="cannot be read"):
        Signals.open(tmp_path / "s")


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    sources=st.lists(
        st.lists(st.binary(max_size=4).filter(lambda b: b"\n" not in b)), min_size=1, max_size=3
    ),
    seed=st.integers(0, 999),
)
def test_gathered_records_equal_single_reads(
    tmp_path_factory: pytest.TempPathFactory, sources: list[list[bytes]], seed: int
) -> None:
    """Consecutive rows are copied together; the result is the same as for single rows."""
    opened: list[RecordFile] = []
    for lines in sources:
        folder = tmp_path_factory.mktemp("source")
        write_records(folder, lines)
        opened.append(open_records(folder))
    flat = [line for lines in sources for line in lines]
    starts = np.cumsum([0, *map(len, sources)])
    drawn = np.random.default_rng(seed)
    rows = (
        np.sort(drawn.choice(len(flat), drawn.integers(0, len(flat) + 1), replace=False))
        if flat
        else starts[:0]
    )
    target = tmp_path_factory.mktemp("target")
    write_gathered_records(target, opened, starts, rows)
    gathered = open_records(target)
    assert [gathered.line(row) for row in range(len(gathered))] == [flat[row] for row in rows]
