from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from helix_consolidation.ledger import tombstone_log as log_module
from helix_consolidation.ledger import tombstones as module
from helix_consolidation.ledger.event_reach import TENANT, Actor, MemoryFacts, Visibility
from helix_consolidation.ledger.tombstone_log import MERGE_RATIO, Record, Table, TombstoneLog
from helix_consolidation.ledger.tombstones import ErasedCorrection, ForgetRecord, Tombstones, Usage
from helix_shared.errors import CorruptArtifactError

ROW = MemoryFacts(stream_sequence=9, memory=99, session=3, document=0, user=0)


def everything() -> Tombstones:
    """Tombstones with an entry in every table."""
    found, hr = Tombstones(), Actor(5, frozenset({6, 7}))
    found.record_forget(1, TENANT, ForgetRecord(10, is_hidden=True, at=123))
    found.record_forget(1, hr, ForgetRecord(11, is_hidden=False, at=124))
    found.record_erasure(2, hr, 11)
    correction = ErasedCorrection(corrects=4, ordinal=17, sequence=8, piece=2)
    found.record_erased_memory(replace(ROW, memory=3), 11, correction)
    found.record_replacement(4, TENANT, 12)
    found.record_withdrawn(6, withdrawn=True)
    found.record_executed(7, 14)
    return found


def test_an_erased_session_reaches_back_but_not_forward() -> None:
    """Rows before the erasure are gone for good, a later row of the session is welcome."""
    tombstones = Tombstones()
    tombstones.record_erasure(3, TENANT, 10)
    assert tombstones.erased_at(ROW) == 10
    assert not tombstones.erased_at(replace(ROW, stream_sequence=11))


def test_an_erasure_stays_inside_its_scope() -> None:
    """User 5 erases the session: what user 4 owns stays, what everybody sees goes."""
    tombstones = Tombstones()
    tombstones.record_erasure(3, Actor(user=5), 10)
    assert tombstones.erased_at(ROW) == 10
    assert not tombstones.erased_at(replace(ROW, visibility=Visibility(owner=4)))


def test_an_erased_memory_stays_away_unless_an_earlier_publication_comes() -> None:
    """The row of 9 was erased: it and later ones stay away, an earlier one is judged by itself."""
    tombstones = Tombstones()
    tombstones.record_erased_memory(ROW, 12)
    assert [tombstones.is_erased(99, sequence) for sequence in (8, 9, 10)] == [False, True, True]
    tombstones.revoke_erased_memory(99)
    assert not tombstones.is_erased(99, 9)


def test_an_event_published_again_is_a_repeat() -> None:
    """The first sequence of an event id counts; of very many the latest are remembered."""
    tombstones = Tombstones()
    tombstones.record_executed(5, 100)
    assert not tombstones.is_repeat(5, 100)
    assert tombstones.is_repeat(5, 200)


def test_usage_adds_up() -> None:
    """Counts are summed, the last access is the latest."""
    assert Usage(1, 0, 1, 50) + Usage(0, 2, 3, 20) == Usage(1, 2, 4, 50)


def test_tombstones_come_back_from_their_log(tmp_path: Path) -> None:
    """What is appended publish by publish is what is read, also what was taken back in between."""
    state, log = everything(), TombstoneLog(tmp_path)
    log.append(state.take_changes())
    state.record_withdrawn(6, withdrawn=False)
    state.revoke_erased_memory(3)
    state.record_forget(1, TENANT, ForgetRecord(20, is_hidden=False, at=200))
    log.append(state.take_changes())
    found = Tombstones()
    for record in TombstoneLog(tmp_path).records():
        found.restore(record)
    assert found == state
    assert (found.withdrawn, found.erased_memories) == (set(), {})


@pytest.mark.parametrize("visibility", [Visibility(), Visibility(owner=5, audience=frozenset({6}))])
def test_a_drop_that_was_taken_back_stays_so_after_a_restart(tmp_path: Path, visibility: Visibility) -> None:
    """Whoever saw the memory; the correction that it was leaves no trace among those of its ancestor."""
    state, log, row = Tombstones(), TombstoneLog(tmp_path), replace(ROW, visibility=visibility)
    state.record_erased_memory(row, 12, ErasedCorrection(corrects=4, ordinal=17, sequence=8, piece=2))
    log.append(state.take_changes())
    state.revoke_erased_memory(row.memory)
    log.append(state.take_changes())
    found = Tombstones()
    for record in TombstoneLog(tmp_path).records():
        found.restore(record)
    assert found == state
    assert (found.erased_memories, found.erased_corrections, found.erased_corrections_of) == ({}, {}, {})
    state.record_erased_memory(row, 30, ErasedCorrection(corrects=5, ordinal=18, sequence=8, piece=2))
    assert state.erased_corrections_of == {5: {row.memory}}


def test_a_log_keeps_as_many_events_as_are_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 400 events the latest 10 are remembered; on the disk are these and few before them."""
    monkeypatch.setattr(module, "REMEMBERED_EVENTS", 10)
    monkeypatch.setattr(log_module, "REMEMBERED_EVENTS", 10)
    state, log = Tombstones(), TombstoneLog(tmp_path)
    for publish in range(100):
        for event in range(4):
            state.record_executed(publish * 4 + event, publish * 4 + event + 1)
        log.append(state.take_changes())
    stored, found = list(log.records()), Tombstones()
    for record in stored:
        found.restore(record)
    assert found == state
    assert len(stored) <= 10 * 3


def test_a_log_has_few_segments_and_writes_a_record_seldom(tmp_path: Path) -> None:
    """A thousand publishes of ten: a handful of files, each record written some ten times, not 500."""
    log, written = TombstoneLog(tmp_path), 0
    for publish in range(1_000):
        log.append([Record(Table.ERASED_MEMORIES, publish * 10 + n, sequence=1, flag=1) for n in range(10)])
        written += len(np.load(log.files[-1]))
    assert len(log.files) <= 8
    assert written < 10_000 * MERGE_RATIO * 8
    assert {record.key for record in log.records()} == set(range(10_000))


def test_nothing_new_writes_nothing(tmp_path: Path) -> None:
    """The same files are linked again."""
    log = TombstoneLog(tmp_path)
    log.append(everything().take_changes())
    before = log.files
    log.append([])
    assert log.files == before


def test_a_damaged_segment_is_refused(tmp_path: Path) -> None:
    """A typed error that names the file."""
    (tmp_path / "seg-000001.npy").write_bytes(b"rubbish")
    with pytest.raises(CorruptArtifactError, match="seg-000001"):
        TombstoneLog(tmp_path)


def test_the_memory_of_events_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The earliest of the log are given up first."""
    monkeypatch.setattr(module, "REMEMBERED_EVENTS", 2)
    tombstones = Tombstones()
    for sequence in (1, 2, 3):
        tombstones.record_executed(sequence, sequence)
    assert tombstones.executed == {2: 2, 3: 3}
