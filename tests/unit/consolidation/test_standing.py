from __future__ import annotations

from dataclasses import replace

from helix_consolidation.standing import NEVER, Bearings, Standing, standing
from helix_consolidation.tombstones import Correction, Forgotten, Tombstones

ROW = Bearings(stream_sequence=10, memory=1, session=2, document=3, user=4, corrects=0)


def test_a_row_nobody_spoke_of_is_plainly_there() -> None:
    """No tombstone, no expiry: visible and latest."""
    assert standing(ROW, Tombstones(), 0) == Standing()


def test_a_forgotten_session_hides_its_earlier_rows_only() -> None:
    """Forgotten at 11: row 10 is hidden with the time of the event, row 12 is not."""
    tombstones = Tombstones(forgotten={2: Forgotten(11, is_hidden=True, at=77)})
    assert standing(ROW, tombstones, 0) == Standing(deleted_at=77, is_hidden=True)
    assert standing(replace(ROW, stream_sequence=12), tombstones, 0) == Standing()


def test_restoring_one_selection_leaves_another_in_force() -> None:
    """The session is restored, the memory itself stays forgotten."""
    tombstones = Tombstones(
        forgotten={2: Forgotten(20, is_hidden=False, at=2), 1: Forgotten(15, is_hidden=True, at=1)}
    )
    assert standing(ROW, tombstones, 0) == Standing(deleted_at=1, is_hidden=True)


def test_a_corrected_memory_names_its_next_version() -> None:
    """Superseded and hidden, never deleted."""
    tombstones = Tombstones(corrections={1: Correction(12, 0, "new")})
    expected = Standing(superseded_by="new", is_latest=False, is_hidden=True)
    assert standing(ROW, tombstones, 0) == expected


def test_of_two_corrections_of_one_memory_the_later_supersedes_the_earlier() -> None:
    """Row 10 corrects memory 9, so does row 15, which names itself `late`."""
    tombstones = Tombstones(corrections={9: Correction(15, 0, "late")})
    early, late = replace(ROW, corrects=9), replace(ROW, corrects=9, stream_sequence=15)
    assert standing(early, tombstones, 0).superseded_by == "late"
    assert standing(late, tombstones, 0) == Standing()


def test_a_replaced_document_supersedes_its_older_pieces() -> None:
    """A piece of sequence 10 ends with version 11, a piece of 11 is current."""
    tombstones = Tombstones(replaced={3: 11})
    assert standing(ROW, tombstones, 0) == Standing(is_latest=False, is_hidden=True)
    assert standing(replace(ROW, stream_sequence=11), tombstones, 0) == Standing()


def test_an_expired_row_is_hidden_from_its_expiry_on() -> None:
    """Hidden at the very moment, not before; never when it has no expiry."""
    row = replace(ROW, expires_at=100)
    assert standing(row, Tombstones(), 99) == Standing()
    assert standing(row, Tombstones(), 100) == Standing(is_hidden=True)
    assert standing(replace(row, expires_at=NEVER), Tombstones(), 100) == Standing()
