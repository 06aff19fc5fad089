"""Receipts of erasures: what a publication writes and reads of them."""

from __future__ import annotations

from pathlib import Path

from helix_shared.artifacts.erasures.receipts import (
    RECEIPTS,
    Place,
    Receipt,
    Receipts,
    all_receipts,
    append_receipts,
)
from helix_shared.value_codes import value_code


def test_the_last_receipt_of_an_erasure_counts(tmp_path: Path) -> None:
    """Whether the segments of the two were merged or not."""
    code = value_code("acme", "event", "x1")
    for count in (1, 2):
        receipt = Receipt(code, 0, (), 7, {"memories": Place(count, count)})
        files = append_receipts(tmp_path / RECEIPTS, [receipt])
    assert append_receipts(tmp_path / RECEIPTS, []) == files
    assert Receipts.open(tmp_path).find("acme", "x1") == receipt
    assert all_receipts(tmp_path) == [receipt]


def test_a_publication_without_receipts_reads_none(tmp_path: Path) -> None:
    """Every publication lists the receipts of all erasures since the beginning."""
    unreadable = tmp_path / RECEIPTS / "seg-000001.jsonl"
    unreadable.mkdir(parents=True)
    assert append_receipts(tmp_path / RECEIPTS, []) == [unreadable]
    assert append_receipts(tmp_path / "missing", []) == []
