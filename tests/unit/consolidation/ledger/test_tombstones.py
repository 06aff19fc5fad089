from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from helix_consolidation.ledger.event_reach import TENANT, Actor, MemoryFacts, Visibility
from helix_consolidation.ledger.lifecycle import tombstone_log as log_module
from helix_consolidation.ledger.lifecycle import tombstones as module
from helix_consolidation.ledger.lifecycle.tombstone_log import Record, Table, TombstoneLog
from helix_consolidation.ledger.lifecycle.tombstones import ErasedCorrection, ForgetRecord, Tombstones, Usage
from helix_shared.artifacts.files.segment_files import MERGE_RATIO
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
    """Rows before the erasure are erased, a later row of the session is not."""
    tombstones = Tombstones()
    tombstones.record_erasure(3, TENANT, 10)
    assert tombstones.erased_at(ROW) == 10
    assert not tombstones.erased_at(replace(ROW, stream_sequence=11))


def test_an_erasure_stays_in_the_reach_of_its_actor() -> None:
    """User 5 erases the session: a memory of user 4 stays, one visible to everybody is erased."""
    tombstones = Tombstones()
    tombstones.record_erasure(3, Actor(user=5), 10)
    assert tombstones.erased_at(ROW) == 10
    assert not tombstones.erased_at(replace(ROW, visibility=Visibility(owner=4)))


def test_an_erased_memory_is_refused_unless_of_an_earlier_publication() -> None:
    """The row of 9 was erased: it and later ones are refused, an earlier one is not."""
    tombstones = Tombstones()
    tombstones.record_erased_memory(ROW, 12)
    assert [tombstones.is_erased(99, sequence) for sequence in (8, 9, 10)] == [False, True, True]
    tombstones.revoke_erased_memory(99)
    assert not tombstones.is_erased(99, 9)


def test_an_event_published_again_is_a_repeat() -> None:
    """The first sequence of an event id counts."""
    tombstones = Tombstones()
    tombstones.record_executed(5, 100)
    assert not tombstones.is_repeat(5, 100)
    assert tombstones.is_repeat(5, 200)


def test_usage_adds_up() -> None:
    """Counts are summed, the last access is the latest."""
    assert Usage(1, 0, 1, 50) + Usage(0, 2, 3, 20) == Usage(1, 2, 4, 50)


def test_tombstones_come_back_from_their_log(tmp_path: Path) -> None:
    """All appended entries are read back after each publication, revocations included."""
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
def test_a_revoked_erasure_stays_revoked_after_a_restart(tmp_path: Path, visibility: Visibility) -> None:
    """For any visibility; also the corrected memory does not list the correction any more."""
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
    """Of 400 events the latest 10 are remembered; the disk holds these and few others."""
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


def test_a_log_has_few_segments_and_seldom_rewrites_a_record(tmp_path: Path) -> None:
    """A thousand publishes of ten records: at most 8 files, each record written about ten times."""
    log, written = TombstoneLog(tmp_path), 0
    for publish in range(1_000):
        log.append([Record(Table.ERASED_MEMORIES, publish * 10 + n, sequence=1, flag=1) for n in range(10)])
        written += len(np.load(log.files[-1]))
    assert len(log.files) <= 8
    assert written < 10_000 * MERGE_RATIO * 8
    assert {record.key for record in log.records()} == set(range(10_000))


def test_no_changes_write_no_segment(tmp_path: Path) -> None:
    """The same files are linked again."""
    log = TombstoneLog(tmp_path)
    log.append(everything().take_changes())
    before = log.files
    log.append([])
    assert log.files == before


def test_a_damaged_segment_is_refused(tmp_path: Path) -> None:
    """The error names the file."""
    (tmp_path / "seg-000001.npy").write_bytes(b"rubbish")
    with pytest.raises(CorruptArtifactError, match="seg-000001"):
        TombstoneLog(tmp_path)


def test_the_number_of_remembered_events_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The earliest of the log are dropped first."""
    monkeypatch.setattr(module, "REMEMBERED_EVENTS", 2)
    tombstones = Tombstones()
    for sequence in (1, 2, 3):
        tombstones.record_executed(sequence, sequence)
    assert tombstones.executed == {2: 2, 3: 3}
