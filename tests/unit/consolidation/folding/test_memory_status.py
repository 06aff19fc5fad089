from __future__ import annotations

from dataclasses import replace

from helix_consolidation.folding.status.memory_status import status_of
from helix_consolidation.ledger.event_reach import NO_TIME, TENANT, Actor, MemoryFacts, Visibility
from helix_consolidation.ledger.facts import MemoryStatus
from helix_consolidation.ledger.lifecycle.pending_actions import LifecycleAction, PendingActions
from helix_consolidation.ledger.lifecycle.tombstones import ForgetRecord, Tombstones

ROW = MemoryFacts(stream_sequence=10, memory=1, session=2, document=3, user=4)
NOTHING_PENDING = PendingActions()


def forgotten(*records: tuple[int, ForgetRecord]) -> Tombstones:
    """Tombstones after the tenant forgot or restored selectors, in the order of the log."""
    tombstones = Tombstones()
    for selector, record in records:
        tombstones.record_forget(selector, TENANT, record)
    return tombstones


def _deleted(at: int, *, by: int) -> MemoryStatus:
    """Hidden since `at` by the event with the sequence `by`."""
    return MemoryStatus(deleted_at=at, deleted_by=by, is_hidden=True)


def test_a_memory_without_events_is_visible() -> None:
    """No tombstone, no expiry: visible and latest."""
    assert status_of(ROW, Tombstones(), NOTHING_PENDING, 0) == MemoryStatus()


def test_a_forgotten_session_hides_its_earlier_rows_only() -> None:
    """Forgotten at 11: row 10 is hidden with the time of the event, row 12 is not."""
    tombstones = forgotten((2, ForgetRecord(11, is_hidden=True, at=77)))
    assert status_of(ROW, tombstones, NOTHING_PENDING, 0) == _deleted(77, by=11)
    assert status_of(replace(ROW, stream_sequence=12), tombstones, NOTHING_PENDING, 0) == MemoryStatus()


def test_restoring_one_selection_leaves_another_in_force() -> None:
    """The session is restored, the memory itself stays forgotten."""
    tombstones = forgotten(
        (1, ForgetRecord(15, is_hidden=True, at=1)), (2, ForgetRecord(20, is_hidden=False, at=2))
    )
    assert status_of(ROW, tombstones, NOTHING_PENDING, 0) == _deleted(1, by=15)


def test_a_forget_out_of_reach_changes_nothing_and_the_tenant_restores_all() -> None:
    """User 5 cannot recall what user 4 owns; user 4 can; the tenant restores it."""
    row = replace(ROW, visibility=Visibility(owner=4))
    tombstones = Tombstones()
    tombstones.record_forget(2, Actor(user=5), ForgetRecord(11, is_hidden=True, at=1))
    assert status_of(row, tombstones, NOTHING_PENDING, 0) == MemoryStatus()
    tombstones.record_forget(2, Actor(user=4), ForgetRecord(12, is_hidden=True, at=2))
    assert status_of(row, tombstones, NOTHING_PENDING, 0) == _deleted(2, by=12)
    tombstones.record_forget(2, TENANT, ForgetRecord(13, is_hidden=False, at=3))
    assert status_of(row, tombstones, NOTHING_PENDING, 0) == MemoryStatus()


def test_a_superseded_memory_names_its_next_version() -> None:
    """Superseded and hidden, never deleted."""
    expected = MemoryStatus(superseded_by="new", is_latest=False, is_hidden=True)
    assert status_of(ROW, Tombstones(), NOTHING_PENDING, 0, superseded_by="new") == expected


def test_a_withdrawn_memory_names_no_next_version() -> None:
    """Not only a correction hides it, so a question about earlier times does not find it."""
    tombstones = Tombstones()
    tombstones.record_withdrawn(ROW.memory, withdrawn=True)
    expected = MemoryStatus(is_latest=False, is_hidden=True)
    assert status_of(ROW, tombstones, NOTHING_PENDING, 0, superseded_by="new") == expected


def test_a_decayed_memory_stays_decayed_when_it_is_replaced() -> None:
    """Both hide it."""
    found = status_of(ROW, Tombstones(), NOTHING_PENDING, 0, superseded_by="new", decayed_at=5)
    assert (found.is_latest, found.decayed_at) == (False, 5)


def test_a_replaced_document_supersedes_its_older_pieces() -> None:
    """A piece of sequence 10 ends with version 11, a piece of 11 is current."""
    tombstones = Tombstones()
    tombstones.record_replacement(3, TENANT, 11)
    assert status_of(ROW, tombstones, NOTHING_PENDING, 0) == MemoryStatus(is_latest=False, is_hidden=True)
    assert status_of(replace(ROW, stream_sequence=11), tombstones, NOTHING_PENDING, 0) == MemoryStatus()


def test_a_pending_action_hides_at_once() -> None:
    """Also before earlier events are processed; a repeat of its event does not count."""
    pending, row = PendingActions(), replace(ROW, stream_sequence=13)
    forget = LifecycleAction(12, 9, "forget", "acme", TENANT, "session", (2,), 77)
    pending.add(replace(forget, sequence=14))
    assert status_of(row, Tombstones(), pending, 0) == _deleted(77, by=14)
    pending.add(forget)
    assert status_of(row, Tombstones(), pending, 0) == MemoryStatus()
    assert status_of(ROW, Tombstones(), pending, 0) == _deleted(77, by=12)


def test_a_pending_erasure_is_told_from_a_forget() -> None:
    """Also where the memory is forgotten as well, before or after: only a forget can be taken back."""
    pending = PendingActions()
    pending.add(LifecycleAction(12, 9, "erase", "acme", TENANT, "session", (2,), 77))
    for forget in (11, 13):
        tombstones = forgotten((1, ForgetRecord(forget, is_hidden=True, at=1)))
        found = status_of(ROW, tombstones, pending, 0)
        assert (found.erasing, found.deleted_by, found.deleted_at) == (True, 12, 77)
        assert not status_of(ROW, tombstones, NOTHING_PENDING, 0).erasing


def test_an_expired_row_is_hidden_from_its_expiry_on() -> None:
    """Hidden from its expiry, not before; never when it has none."""
    row = replace(ROW, expires_at=100)
    assert status_of(row, Tombstones(), NOTHING_PENDING, 99) == MemoryStatus()
    assert status_of(row, Tombstones(), NOTHING_PENDING, 100) == MemoryStatus(is_hidden=True)
    assert status_of(replace(row, expires_at=NO_TIME), Tombstones(), NOTHING_PENDING, 100) == MemoryStatus()
