from __future__ import annotations

from helix_consolidation.ledger.event_reach import value_code
from helix_consolidation.ledger.facts import LedgerEntry, MemoryStatus
from helix_consolidation.ledger.ledger import Ledger
from helix_shared.artifacts.generation.manifest import digest_of


def entry(number: int, **fields: object) -> LedgerEntry:
    """A row whose id and sequences are `number`; `fields` override."""
    base = {
        "memory_id": f"{number:032x}",
        "tenant_id": "acme",
        "piece": 0,
        "stream_sequence": number,
        "revision_sequence": number,
        "session": 5,
        "document": 0,
        "user": 0,
    }
    return LedgerEntry(**(base | fields))  # type: ignore[arg-type]  # fields are the test's business


def test_ordinals_are_dense_and_found_again() -> None:
    """In order of first arrival; also after the index was sorted again."""
    ledger = Ledger()
    assert [ledger.add(entry(number)) for number in (9, 4, 7)] == [0, 1, 2]
    ledger._index()
    assert [ledger.find(f"{number:032x}") for number in (4, 7, 9, 1)] == [1, 2, 0, None]


def test_thousands_of_memories_keep_their_ordinals() -> None:
    """Growing the columns changes no ordinal."""
    ledger = Ledger()
    for number in range(3_000):
        ledger.add(entry(number))
    assert ledger.size == ledger.memories == 3_000
    assert ledger.find(f"{2_999:032x}") == 2_999
    assert ledger.sequences(1_500) == (1_500, 1_500)


def test_an_erased_memory_leaves_only_a_hole() -> None:
    """Its ordinal is not reused, its id is not found, the digest does not contain it."""
    ledger = Ledger()
    first, second = ledger.add(entry(1)), ledger.add(entry(2))
    ledger._index()
    ledger.erase(first)
    assert ledger.find(f"{1:032x}") is None
    assert ledger.add(entry(3)) == second + 1
    assert f"{ledger.digest:016x}" == digest_of([f"{2:032x}", f"{3:032x}"])
    assert (ledger.memories, ledger.hidden, ledger.size) == (2, 0, 3)


def test_a_selection_ends_at_its_sequence() -> None:
    """Rows of the session below sequence 3; an empty code selects nothing."""
    ledger = Ledger()
    for number in (1, 2, 3):
        ledger.add(entry(number))
    assert ledger.selected("session", 5, before=3) == [0, 1]
    assert ledger.selected("document", 0, before=9) == []


def test_a_status_is_recorded_and_counted() -> None:
    """A hidden memory is counted as hidden."""
    ledger = Ledger()
    ledger.add(entry(1))
    found = MemoryStatus(superseded_by="new", is_latest=False, deleted_at=5, is_hidden=True)
    ledger.record_status(0, found)
    assert ledger.status(0) == found
    assert (ledger.memories, ledger.hidden) == (1, 1)


def test_expired_memories_are_reported_once() -> None:
    """Not before their expiry, and not when they are hidden already."""
    ledger = Ledger()
    ledger.add(entry(1, expires_at=100))
    assert ledger.expiry_changed(99) == []
    assert ledger.expiry_changed(100) == [0]
    ledger.record_status(0, MemoryStatus(is_hidden=True))
    assert ledger.expiry_changed(100) == []


def test_memories_that_a_fast_clock_hid_are_reported_again() -> None:
    """Hidden before their expiry and by nothing else; what was forgotten or replaced stays hidden."""
    ledger = Ledger()
    for number in (1, 2, 3):
        ledger.add(entry(number, expires_at=100))
    ledger.record_status(0, MemoryStatus(is_hidden=True))
    ledger.record_status(1, MemoryStatus(is_hidden=True, deleted_at=5))
    ledger.record_status(2, MemoryStatus(is_hidden=True, is_latest=False))
    assert ledger.expiry_changed(99) == [0]


def test_corrections_are_those_of_the_same_tenant() -> None:
    """A correction by another tenant of the same id does not count."""
    ledger = Ledger()
    ledger.add(entry(1, corrects="old"))
    ledger.add(entry(2, corrects="old", tenant_id="other"))
    assert ledger.corrections.of(value_code("acme", "memory", "old")) == [0]
