"""Signals: the later row counts, merges keep all rows, and reuse of a previous reader changes nothing."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helix_shared.artifacts.files.mapped import mapped
from helix_shared.artifacts.signals import writer as signals_module
from helix_shared.artifacts.signals.columns import NO_TIME, SCALARS, code, signals_of
from helix_shared.artifacts.signals.reader import Signals
from helix_shared.artifacts.signals.segments import Segment
from helix_shared.artifacts.signals.vector_storage import Storage
from helix_shared.artifacts.signals.writer import SignalsWriter
from helix_shared.errors import CorruptArtifactError, InvalidInputError
from tests.examples import examples

Records = Callable[[list[dict[str, Any]]], pa.Table]
TOGETHER = 3
"""Segments that are merged into one, so that a few rows are merged several times."""


@pytest.fixture(autouse=True, scope="module")
def few_are_merged() -> Iterator[None]:
    """Merges after every third segment."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(signals_module, "MERGED_TOGETHER", TOGETHER)
        yield


def sketches_by_ordinal(signals: Signals) -> dict[int, list[int]]:
    """Sketches by ordinal, as the blocks hold them."""
    return {
        int(ordinal): words.tolist()
        for blocks in signals.tenant_sketches.blocks.values()
        for block in blocks
        for ordinal, words in zip(block.ordinals, block.sketches.T, strict=True)
    }


def segments(folder: Path) -> list[str]:
    """Names of the segment folders."""
    return sorted(path.name for path in folder.iterdir())


def test_columns_hold_the_values_of_the_record(tmp_path: Path, records: Records) -> None:
    """Times are microseconds or `NO_TIME`; type, project, session, tenant and owner are codes."""
    moment = datetime(1970, 1, 1, 0, 0, 1, 5, tzinfo=UTC)
    table = records(
        [
            {"type": "decision", "event_start": moment, "session_id": "s1", "salience": 0.25, "pinned": True},
            {"type": "code", "occurred_at": moment, "token_count": 12, "priority": 2.0, "hidden": True},
        ]
    )
    SignalsWriter.open(tmp_path / "s").append(*signals_of(table))
    signals = Signals.open(tmp_path / "s")
    assert signals.type_code.tolist() == [3, 4]
    assert signals.event_start.tolist() == [1_000_005, NO_TIME]
    assert signals.occurred_at[1] == 1_000_005
    assert signals.session_code.tolist() == [code("s1"), 0]
    assert signals.tenant_code.tolist() == [code("acme")] * 2
    assert (signals.salience[0], signals.pinned[0], signals.token_count[1]) == (0.25, True, 12)
    assert (signals.priority[1], signals.hidden.tolist()) == (2.0, [False, True])
    assert signals.stream_sequence.tolist() == [1, 2]
    assert 0 < code("s1") < 2**63


def test_matrices_are_gathered_in_the_order_given(tmp_path: Path, records: Records) -> None:
    """Vectors, cosines and signatures are in the order of the ordinals, across segments and with repeats."""
    table = records([{} for _ in range(6)])
    writer = SignalsWriter.open(tmp_path / "s")
    writer.append(*signals_of(table.slice(0, 5)))
    writer.append(*signals_of(table.slice(5)))
    signals = Signals.open(tmp_path / "s")
    assert len(signals.segments) == 2
    matrix = np.array(table["vector"].to_pylist(), np.float32)
    wanted = np.array([5, 0, 3, 5], np.int64)
    assert np.array_equal(signals.vectors(wanted), matrix[wanted])
    assert signals.cosines(matrix[2], wanted) == pytest.approx(matrix[wanted] @ matrix[2])
    assert signals.minhash(wanted)[:, 0].tolist() == [5, 0, 3, 5]
    assert signals.minhash(wanted).shape == (4, 64)
    assert signals.cosines(matrix[2], wanted[:0]).shape == (0,)


def test_the_later_row_counts_within_and_between_segments(tmp_path: Path, records: Records) -> None:
    """An ordinal that is appended again is replaced, whether or not segments were merged since."""
    writer = SignalsWriter.open(tmp_path / "s")
    writer.append(*signals_of(records([{"token_count": 1} for _ in range(9)])))
    writer.append(*signals_of(records([{"ordinal": 4, "token_count": 2}, {"ordinal": 4, "token_count": 3}])))
    signals = Signals.open(tmp_path / "s")
    assert len(signals.segments) == 2
    assert signals.token_count.tolist() == [1, 1, 1, 1, 3, 1, 1, 1, 1]
    for ordinal in (4, 5, 6):
        writer.append(*signals_of(records([{"ordinal": ordinal, "token_count": 9}])))
    merged = Signals.open(tmp_path / "s")
    assert len(merged.segments) < 5, "some were merged"
    assert merged.token_count.tolist() == [1, 1, 1, 1, 9, 9, 9, 1, 1]


def test_the_later_row_counts_after_a_million_segments(tmp_path: Path, records: Records) -> None:
    """Segments are ordered by their number, also where one has a digit more than the one before."""
    SignalsWriter.open(tmp_path / "s").append(*signals_of(records([{"token_count": 1} for _ in range(9)])))
    (tmp_path / "s" / "seg-000001").rename(tmp_path / "s" / "seg-999999")
    SignalsWriter.open(tmp_path / "s").append(*signals_of(records([{"ordinal": 4, "token_count": 2}])))
    assert segments(tmp_path / "s") == ["seg-1000000", "seg-999999"]
    assert Signals.open(tmp_path / "s").token_count[4] == 2
    assert SignalsWriter.open(tmp_path / "s").count == 9


def test_many_appends_leave_few_segments(
    tmp_path: Path, records: Records, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fewer of each size than are merged together; and a row is rewritten once for each size."""
    written: list[int] = []
    merge = signals_module.merge_segments

    def counted(folder: Path, merged: Sequence[Segment], *, storage: Storage) -> Segment:
        written.append(sum(map(len, merged)))
        return merge(folder, merged, storage=storage)

    monkeypatch.setattr(signals_module, "merge_segments", counted)
    monkeypatch.setattr(signals_module, "MERGED_TOGETHER", 6)
    writer = SignalsWriter.open(tmp_path / "s")
    for ordinal in range(500):
        writer.append(*signals_of(records([{"ordinal": ordinal}])))
        assert len(writer.segments) <= 3 * 5 + 1
    signals = Signals.open(tmp_path / "s")
    sizes = [len(segment) for segment in signals.segments]
    assert len(signals) == sum(sizes) == writer.count == 500
    assert sizes == [216, 216, 36, 6, 6, 6, 6, 6, 1, 1]
    assert sum(written) <= 3 * 500
    assert signals.stream_sequence.tolist() == list(range(1, 501))


def test_a_large_append_does_not_hide_small_segments_from_merges(tmp_path: Path, records: Records) -> None:
    """Small segments before a large one are merged with it, once there are enough of both."""
    writer = SignalsWriter.open(tmp_path / "s")
    for start in range(0, 60, 12):
        writer.append(*signals_of(records([{"ordinal": start}])))
        writer.append(*signals_of(records([{"ordinal": start + n} for n in range(1, 12)])))
    assert len(writer.segments) <= 3 * TOGETHER
    assert Signals.open(tmp_path / "s").stream_sequence.tolist() == list(range(1, 61))


def test_an_ordinal_without_a_row_is_hidden(tmp_path: Path, records: Records) -> None:
    """It has no times and no vector."""
    SignalsWriter.open(tmp_path / "s").append(*signals_of(records([{"ordinal": 2}])))
    signals = Signals.open(tmp_path / "s")
    assert signals.hidden.tolist() == [True, True, False]
    assert signals.created_at[0] == NO_TIME
    assert not signals.vectors(np.array([1])).any()


def test_erasing_leaves_no_byte(tmp_path: Path, records: Records) -> None:
    """After erasure and compaction no file holds the vector; the ordinal is hidden, others are unchanged."""
    table = records([{"token_count": 7} for _ in range(8)])
    writer = SignalsWriter.open(tmp_path / "s")
    writer.append(*signals_of(table))
    needle = np.array(table["vector"][3].as_py(), np.float32).tobytes()
    before = b"".join(path.read_bytes() for path in (tmp_path / "s").rglob("*.npy"))
    writer.erase(np.array([3]))
    writer.compact()
    after = b"".join(path.read_bytes() for path in (tmp_path / "s").rglob("*.npy"))
    signals = Signals.open(tmp_path / "s")
    assert (needle in before, needle in after) == (True, False)
    assert signals.hidden.tolist() == [index == 3 for index in range(8)]
    assert signals.token_count.sum() == 7 * 7


def test_an_erasure_alone_rewrites_no_large_segment(tmp_path: Path, records: Records) -> None:
    """A reader sees the blank row at once."""
    writer = SignalsWriter.open(tmp_path / "s")
    writer.append(*signals_of(records([{} for _ in range(8)])))
    [before] = (tmp_path / "s").iterdir()
    writer.erase(np.array([3]))
    assert before.is_dir()
    signals = Signals.open(tmp_path / "s")
    assert signals.hidden.tolist() == [index == 3 for index in range(8)]


def test_linked_segments_outlive_later_merges(tmp_path: Path, records: Records) -> None:
    """Published segments do not change when the live segments are merged."""
    writer = SignalsWriter.open(tmp_path / "s")
    writer.append(*signals_of(records([{"token_count": 1}])))
    writer.link_into(tmp_path / "linked")
    signals = Signals.open(tmp_path / "linked")
    for _ in range(TOGETHER):
        writer.append(*signals_of(records([{"token_count": 2}])))
    assert segments(tmp_path / "s") != segments(tmp_path / "linked"), "they were merged"
    assert Signals.open(tmp_path / "s").token_count.tolist() == [2]
    assert Signals.open(tmp_path / "linked").token_count.tolist() == signals.token_count.tolist() == [1]


@settings(max_examples=examples(40), deadline=None)
@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 25), st.integers(0, 99)), min_size=1, max_size=8),
        min_size=1,
        max_size=12,
    ),
    st.integers(0, 12),
)
def test_reuse_of_a_previous_reader_gives_the_same_signals(
    tmp_path_factory: pytest.TempPathFactory,
    records: Records,
    appends: list[list[tuple[int, int]]],
    opened_after: int,
) -> None:
    """After any appends and merges, the signals equal those of a reader opened without `previous`."""
    folder = tmp_path_factory.mktemp("signals")
    writer = SignalsWriter.open(folder / "live")
    previous: Signals | None = None
    expected: dict[int, int] = {}
    for step, append in enumerate(appends):
        rows = [{"ordinal": ordinal, "token_count": count} for ordinal, count in append]
        writer.append(*signals_of(records(rows)))
        expected |= dict(append)
        if step in (opened_after, opened_after + 2):
            writer.link_into(folder / str(step))
            previous = Signals.open(folder / str(step), previous=previous)
    reused, fresh = Signals.open(folder / "live", previous=previous), Signals.open(folder / "live")
    for name in (*SCALARS, "rows"):
        assert np.array_equal(getattr(reused, name), getattr(fresh, name)), name
    assert sketches_by_ordinal(reused) == sketches_by_ordinal(fresh)
    assert {ordinal: int(fresh.token_count[ordinal]) for ordinal in expected} == expected


def test_a_previous_reader_of_another_history_is_not_reused(tmp_path: Path, records: Records) -> None:
    """After a return to an older generation, newer rows are not visible."""
    first = SignalsWriter.open(tmp_path / "s")
    first.append(*signals_of(records([{"token_count": 1} for _ in range(9)])))
    first.link_into(tmp_path / "older")
    first.append(*signals_of(records([{"ordinal": 4, "token_count": 2}])))
    newer = Signals.open(tmp_path / "s")
    assert newer.token_count[4] == 2
    assert Signals.open(tmp_path / "older", previous=newer).token_count.tolist() == [1] * 9


def test_incomplete_columns_are_refused(tmp_path: Path, records: Records) -> None:
    """If a column is missing or has another length, nothing is written."""
    writer = SignalsWriter.open(tmp_path / "s")
    ordinals, columns = signals_of(records([{}, {}]))
    for wrong in (
        {**columns, "salience": columns["salience"][:1]},
        {**columns} | {"vector": np.empty((0, 8))},
    ):
        with pytest.raises(InvalidInputError):
            writer.append(ordinals, wrong)
    assert segments(tmp_path / "s") == []


def test_a_missing_or_cut_file_is_corrupt(tmp_path: Path, records: Records) -> None:
    """An incomplete segment is refused."""
    SignalsWriter.open(tmp_path / "s").append(*signals_of(records([{}, {}])))
    file = tmp_path / "s" / "seg-000001" / "minhash.npy"
    file.write_bytes(file.read_bytes()[:-4])
    with pytest.raises(CorruptArtifactError, match="cannot be read"):
        Signals.open(tmp_path / "s")
    file.unlink()
    with pytest.raises(CorruptArtifactError, match="cannot be read"):
        Signals.open(tmp_path / "s")
    with pytest.raises(CorruptArtifactError, match="has no signals"):
        Signals.open(tmp_path / "nowhere")


def test_a_store_without_rows_has_no_cosines(tmp_path: Path) -> None:
    """An empty list of ordinals is accepted while vectors have no length yet."""
    SignalsWriter.open(tmp_path / "s")
    signals = Signals.open(tmp_path / "s")
    assert signals.cosines(np.ones(8, np.float32), np.empty(0, np.int64)).shape == (0,)


@settings(max_examples=examples(40), deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 25), min_size=1, max_size=8), min_size=1, max_size=25),
    st.integers(0, 20),
)
def test_merges_in_the_background_change_nothing(
    tmp_path_factory: pytest.TempPathFactory, records: Records, appends: list[list[int]], erased: int
) -> None:
    """Rows appended during a large merge count over the merged ones, and erased rows stay erased."""
    folder = tmp_path_factory.mktemp("signals")
    expected: dict[int, int] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(signals_module, "MOST_FOREGROUND_ROWS", 6)
        writer = SignalsWriter.open(folder)
        for step, ordinals in enumerate(appends):
            rows = [{"ordinal": o, "token_count": step} for o in ordinals]
            distinct = {row["ordinal"]: row for row in rows}
            writer.append(*signals_of(records(list(distinct.values()))))
            expected |= dict.fromkeys(ordinals, step)
            if step == erased:
                writer.erase(np.array(sorted(expected)[:1]))
                expected.pop(min(expected))
        before = Signals.open(folder)
        writer.finish_merge(wait=True)
        after = Signals.open(folder, previous=before)
    for signals in (before, after):
        assert {o: int(signals.token_count[o]) for o in np.flatnonzero(~signals.hidden).tolist()} == expected
    assert len(after.segments) <= len(before.segments)


def test_the_rows_written_last_are_among_the_latest(tmp_path: Path, records: Records) -> None:
    """`latest` holds the rows written last, however segments were merged."""
    drawn = np.random.default_rng(5)
    writer, order = SignalsWriter.open(tmp_path / "s"), []
    for _ in range(40):
        batch = drawn.choice(300, int(drawn.integers(1, 30)), replace=False).tolist()
        writer.append(*signals_of(records([{"ordinal": ordinal} for ordinal in batch])))
        order.append(batch)
        signals = Signals.open(tmp_path / "s")
        for back in range(1, len(order) + 1):
            written = {ordinal for batch in order[-back:] for ordinal in batch}
            assert written <= set(signals.latest(len(written)).tolist())
    assert len(Signals.open(tmp_path / "s").latest(0)) == 0


def test_arrays_are_opened_by_several_threads_at_once(tmp_path: Path) -> None:
    """Python 3.11 miscounts recursion depth when two threads parse headers; `mapped` prevents that."""
    path = tmp_path / "array.npy"
    np.save(path, np.zeros(3, [(f"column{number}", np.int64) for number in range(40)]))
    thresholds = gc.get_threshold()

    def let_others_run(_phase: str, _info: dict[str, int]) -> None:
        time.sleep(0)

    gc.callbacks.append(let_others_run)
    gc.set_threshold(20)
    try:
        with ThreadPoolExecutor(8) as pool:
            opened = list(pool.map(lambda _: mapped(path), range(300)))
    finally:
        gc.callbacks.remove(let_others_run)
        gc.set_threshold(*thresholds)
    assert {array.shape for array in opened} == {(3,)}
