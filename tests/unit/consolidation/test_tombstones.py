from __future__ import annotations

import json

import pytest

from helix.events import ForgetEvent
from helix_consolidation.tombstones import (
    NOTHING,
    Correction,
    Forgotten,
    Tombstones,
    Usage,
    scope_code,
    selectors_of,
)


def test_equal_values_of_two_tenants_have_different_codes() -> None:
    """A selector never reaches into another tenant."""
    assert scope_code("acme", "session", "s") != scope_code("other", "session", "s")
    assert scope_code("acme", "session", "s") != scope_code("acme", "user", "s")
    assert scope_code("acme", "session", "") == NOTHING


def test_an_event_selects_along_one_axis() -> None:
    """Each named memory is one selector."""
    event = ForgetEvent(event_id="e", tenant_id="acme", memory_ids=["a" * 32, "b" * 32])
    codes = [scope_code("acme", "memory", "a" * 32), scope_code("acme", "memory", "b" * 32)]
    assert selectors_of("acme", event) == [("memory", codes[0]), ("memory", codes[1])]


@pytest.mark.parametrize("order", [(10, 20), (20, 10)])
def test_the_last_of_forget_and_restore_wins_in_any_order(order: tuple[int, int]) -> None:
    """Forget at 10, restore at 20: restored."""
    tombstones = Tombstones()
    for sequence in order:
        tombstones.forget(7, Forgotten(sequence, is_hidden=sequence == 10, at=sequence))
    assert tombstones.forgotten[7] == Forgotten(20, is_hidden=False, at=20)


def test_the_latest_correction_wins_and_of_its_pieces_the_first() -> None:
    """Corrections at 5 and 9; the one at 9 came in two pieces."""
    tombstones = Tombstones()
    for correction in (Correction(9, 1, "c"), Correction(5, 0, "a"), Correction(9, 0, "b")):
        tombstones.correct(1, correction)
    assert tombstones.corrections[1] == Correction(9, 0, "b")


def test_an_erased_session_reaches_back_but_not_forward() -> None:
    """Rows before the erasure are gone for good, a later row of the session is welcome."""
    tombstones = Tombstones()
    tombstones.erase(3, 10)
    assert tombstones.is_erased(99, (3, NOTHING, NOTHING), 9)
    assert not tombstones.is_erased(99, (3, NOTHING, NOTHING), 11)


def test_an_event_published_again_is_a_repeat_and_its_redelivery_is_not() -> None:
    """The first sequence of an event id counts."""
    tombstones = Tombstones()
    assert not tombstones.is_repeat(5, 100)
    assert not tombstones.is_repeat(5, 100)
    assert tombstones.is_repeat(5, 200)


def test_usage_adds_up() -> None:
    """Counts are summed, the last access is the latest."""
    assert Usage(1, 0, 1, 50) + Usage(0, 2, 3, 20) == Usage(1, 2, 4, 50)


def test_tombstones_survive_json() -> None:
    """What is saved in a generation is what comes back."""
    tombstones = Tombstones()
    tombstones.forget(1, Forgotten(10, is_hidden=True, at=123))
    tombstones.erase(2, 11)
    tombstones.dropped.add(3)
    tombstones.replace(4, 12)
    tombstones.correct(5, Correction(13, 0, "ab"))
    tombstones.await_memory(6, Usage(1, 0, 1, 99))
    tombstones.is_repeat(7, 14)
    assert tombstones == Tombstones.from_json(json.loads(json.dumps(tombstones.to_json())))
